/** What is said where kcheck cannot be started, and what mends it. */

import { isAbsolute } from "node:path";

import { commands, env, Uri, window } from "vscode";

const DOCUMENTATION = "https://github.com/kcheck/kcheck/blob/main/docs/editors.md";
export const INSTALL = 'pipx install --force "kcheck[lsp] @ git+https://github.com/kcheck/kcheck"';

/** Why there is no server. */
export interface Problem {
  readonly message: string;
  /** What the buttons offer: a command for the terminal, or the setting. */
  readonly remedy: "install" | "setting" | "none";
}

export const NOT_FOUND: Problem = {
  message: `kcheck is not installed, or not in PATH. Install it with: ${INSTALL}`,
  remedy: "install",
};

export function noProgram(setting: string): Problem {
  const isWhole = isAbsolute(setting) || setting.startsWith("~");
  const reason = isWhole ? "there is no such executable" : "an absolute path is needed";
  return { message: `The setting kcheck.path is ${setting}: ${reason}.`, remedy: "setting" };
}

/** What ended the server before it answered, from what it wrote to stderr. */
export function startProblem(executable: string, written: readonly string[]): Problem {
  const text = written.join("\n");
  if (text.includes("no command lsp")) {
    return {
      message: `${executable} is too old: it has no language server. Install a newer one with: ${INSTALL}`,
      remedy: "install",
    };
  }
  if (text.includes("kcheck[lsp]")) {
    return { message: `${executable} lacks its extra "lsp". Install it with: ${INSTALL}`, remedy: "install" };
  }
  const last = written.findLast((line) => line.trim() !== "")?.trim() ?? "it said nothing";
  return { message: `${executable} lsp does not start: ${last}`, remedy: "none" };
}

const COPY = "Copy Command";
const OPEN = "Open Documentation";
const SETTING = "Open Setting";
const OUTPUT = "Show Output";
const RESTART = "Restart";

/** Show a problem, with buttons for what mends it. */
export async function showProblem(problem: Problem): Promise<void> {
  const first = { install: COPY, setting: SETTING, none: OUTPUT }[problem.remedy];
  switch (await window.showErrorMessage(problem.message, first, OPEN)) {
    case COPY:
      await env.clipboard.writeText(INSTALL);
      break;
    case SETTING:
      await commands.executeCommand("workbench.action.openSettings", "kcheck.path");
      break;
    case OUTPUT:
      await commands.executeCommand("kcheck.showOutput");
      break;
    case OPEN:
      await env.openExternal(Uri.parse(DOCUMENTATION));
      break;
  }
}

/** Say that the server ended too often. */
export async function showCrash(): Promise<void> {
  const choice = await window.showErrorMessage("The kcheck server ended unexpectedly and was not restarted.", RESTART, OUTPUT);
  if (choice !== undefined) {
    await commands.executeCommand(choice === RESTART ? "kcheck.restart" : "kcheck.showOutput");
  }
}
