/** The entry point. */

import { commands, type ExtensionContext, Uri, window, workspace } from "vscode";

import { NOT_FOUND, showProblem } from "./messages";
import { type Page, Pages } from "./page";
import { Server } from "./server";
import { START_SETTINGS } from "./settings";
import { Status } from "./status";

let server: Server | undefined;

export function activate(context: ExtensionContext): void {
  const channel = window.createOutputChannel("kcheck", { log: true });
  const status = new Status();
  const running = new Server(channel, status);
  const pages = new Pages(Uri.joinPath(context.globalStorageUri, "pages"));
  server = running;

  const open = async (page: Page): Promise<void> => {
    const executable = await running.executable();
    await (executable === undefined ? showProblem(NOT_FOUND) : pages.open(page, executable));
  };
  context.subscriptions.push(
    channel,
    status,
    commands.registerCommand("kcheck.restart", () => running.restart()),
    commands.registerCommand("kcheck.showOutput", () => channel.show()),
    commands.registerCommand("kcheck.openReport", () => open("check")),
    commands.registerCommand("kcheck.openCapacity", () => open("capacity")),
    commands.registerCommand("kcheck.openSimulation", () => open("simulate")),
    commands.registerCommand("kcheck.openInBrowser", () => pages.openInBrowser()),
    workspace.onDidChangeConfiguration((change) => {
      if (START_SETTINGS.some((setting) => change.affectsConfiguration(setting))) {
        void running.restart();
      }
    }),
    workspace.onDidGrantWorkspaceTrust(() => running.restart()),
  );
  void running.restart();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
