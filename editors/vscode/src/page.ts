/** The pages that `kcheck --format html` writes, shown in a tab. */

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";

import { type CancellationToken, env, ProgressLocation, Uri, ViewColumn, type WebviewPanel, window, workspace, type WorkspaceFolder } from "vscode";

import { readSettings } from "./settings";

const LARGEST = 256 * 1024 * 1024; // bytes

export type Page = "check" | "capacity" | "simulate";

const TITLES: Record<Page, string> = {
  check: "kcheck Report",
  capacity: "kcheck Capacity",
  simulate: "kcheck Simulation",
};

export class Pages {
  private readonly files = new Map<WebviewPanel, Uri>();

  constructor(private readonly folder: Uri) {}

  /** Write a page about a folder of the workspace and show it. Files that are not saved count as they are on disk. */
  async open(page: Page, executable: string): Promise<void> {
    const folder = await pickFolder();
    if (folder === undefined) {
      return;
    }
    const options = { cancellable: true, location: ProgressLocation.Notification, title: `${TITLES[page]}: ${folder.name}` };
    try {
      const html = await window.withProgress(options, (_progress, token) => run(executable, page, folder, token));
      if (html !== undefined) {
        await this.show(page, html);
      }
    } catch (error) {
      void window.showErrorMessage(`kcheck ${page}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Open the page of the active tab in the browser. */
  async openInBrowser(): Promise<void> {
    for (const [panel, file] of this.files) {
      if (panel.active) {
        await env.openExternal(file);
      }
    }
  }

  private async show(page: Page, html: string): Promise<void> {
    await mkdir(this.folder.fsPath, { recursive: true });
    const file = Uri.joinPath(this.folder, `${page}.html`);
    await writeFile(file.fsPath, html);
    // The page says itself what it may load: nothing.
    const panel = window.createWebviewPanel("kcheck.page", TITLES[page], ViewColumn.Active, {
      enableFindWidget: true,
      enableScripts: true,
      localResourceRoots: [],
    });
    panel.webview.html = html;
    this.files.set(panel, file);
    panel.onDidDispose(() => this.files.delete(panel));
  }
}

async function pickFolder(): Promise<WorkspaceFolder | undefined> {
  const folders = workspace.workspaceFolders ?? [];
  const active = window.activeTextEditor && workspace.getWorkspaceFolder(window.activeTextEditor.document.uri);
  if (folders.length === 0) {
    void window.showInformationMessage("kcheck: open a folder first.");
  }
  return active ?? (folders.length > 1 ? window.showWorkspaceFolderPick() : folders[0]);
}

/** The page, or nothing where the user does not wait for it. */
function run(executable: string, page: Page, folder: WorkspaceFolder, token: CancellationToken): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const args = [page, ...readSettings().arguments, "--format=html"];
    const options = { cwd: folder.uri.fsPath, maxBuffer: LARGEST };
    const process = execFile(executable, args, options, (error, stdout, stderr) => {
      if (token.isCancellationRequested) {
        resolve(undefined);
      } else if (stdout.trim() !== "" && (error === null || error.code === 1)) {
        resolve(stdout); // 1: there are findings
      } else {
        reject(new Error(stderr.trim().split("\n").at(-1) || error?.message || "it printed nothing"));
      }
    });
    token.onCancellationRequested(() => process.kill());
  });
}
