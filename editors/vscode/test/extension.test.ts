/** The extension as it is packed, with the real language client and the real kcheck, in a window that only notes down. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { URI } from "vscode-uri";

import { Document, Window, type WorkspaceEdit } from "./vscode";

interface Extension {
  activate(context: object): void;
  deactivate(): Promise<void>;
}

interface Hover {
  readonly contents: readonly { readonly value: string }[];
}

interface Place {
  readonly uri: URI;
}

interface Hint {
  readonly label: unknown;
}

interface Action {
  readonly title: string;
  readonly edit?: WorkspaceEdit;
}

interface Manifest {
  readonly capabilities: { readonly untrustedWorkspaces: { readonly supported: unknown; readonly restrictedConfigurations: unknown } };
  readonly contributes: { readonly configuration: { readonly properties: Record<string, { readonly scope: string }> } };
}

const HERE = process.cwd();
const PATH = process.env["PATH"] ?? "";
const PATIENCE = 120_000; // milliseconds
const INSTALL = /pipx install --force "kcheck\[lsp\]/;

const loader = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown };
const load = loader._load.bind(loader);

let scratch: string;
let folder: string;
let running: Extension | undefined;
let shown: Window | undefined;

before(() => {
  scratch = mkdtempSync(path.join(tmpdir(), "kcheck-vscode-"));
  folder = path.join(scratch, "eks training");
  cpSync(path.join(HERE, "..", "..", "examples", "eks-training"), folder, { recursive: true });
});

afterEach(async () => {
  process.env["PATH"] = PATH;
  await running?.deactivate();
  running = undefined;
});

after(() => rmSync(scratch, { force: true, recursive: true }));

/** Start the extension in a window; a fresh copy of it, as in a fresh process. */
function start(window: Window): void {
  shown = window;
  const api = window.api();
  loader._load = (request, ...rest) => (request === "vscode" ? api : load(request, ...rest));
  const require = createRequire(path.join(HERE, "out", "extension.js"));
  delete require.cache[path.join(HERE, "out", "extension.js")];
  running = require("./extension.js") as Extension;
  running.activate({ globalStorageUri: URI.file(path.join(scratch, "storage")), subscriptions: [] });
}

async function until(what: string, condition: () => boolean): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!condition()) {
    assert.ok(Date.now() < end, `waited in vain for ${what}: ${shown?.statusItem.text}\n${shown?.log.slice(-9).join("\n")}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Whether a server has started: it says first that nothing is open, and may have counted findings a moment later. */
function isThere(window: Window): boolean {
  return /^(\$\(check\) kcheck|kcheck \$\(error\) \d+ .*)$/.test(window.statusItem.text);
}

function document(name: string, language = "terraform"): Document {
  const file = path.join(folder, name);
  return new Document(file, language, readFileSync(file, "utf8"));
}

function codes(window: Window, file: Document): string[] {
  return window.found(file).map((one) => one.code?.value ?? "");
}

/** Put a program called kcheck into a folder, which is all that PATH has beside the system. */
function fake(name: string, script: string): string {
  const bin = path.join(scratch, name);
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(bin, "kcheck"), `#!/bin/sh\n${script}\n`);
  chmodSync(path.join(bin, "kcheck"), 0o755);
  return bin;
}

/** The real kcheck, as a script for `fake`: it ends when the server does, and takes what the server is sent. */
function real(): string {
  const found = PATH.split(path.delimiter).find((one) => existsSync(path.join(one, "kcheck")));
  assert.ok(found, "these tests need kcheck[lsp] in PATH");
  return `exec "${path.join(found, "kcheck")}" "$@"`;
}

const SYSTEM = ["/usr/bin", "/bin"];

/** Look for programs in these folders, and in those of the system. */
function setPath(...folders: string[]): void {
  process.env["PATH"] = [...folders, ...SYSTEM].join(path.delimiter);
}

test("findings of a file are shown, and change as it is typed", async () => {
  const window = new Window([folder]);
  start(window);
  const file = document("vpc.tf");
  window.open(file);
  await until("findings", () => codes(window, file).includes("subnet-too-small"));
  assert.ok(window.found(file).every((one) => one.source === "kcheck"));
  const range = window.found(file).find((one) => one.code?.value === "single-nat-gateway")?.range;
  assert.deepEqual(range?.start, file.position('module "vpc"'));
  await until("counts", () => /^kcheck \$\(error\) \d+ \$\(warning\) \d+$/.test(window.statusItem.text));
  assert.match(window.statusItem.tooltip, /^kcheck: \d+ errors?, \d+ warnings?\nkcheck \d+\.\d+/);

  window.type(file, file.getText().replace("single_nat_gateway = true", "single_nat_gateway = false"));
  await until("one finding less", () => !codes(window, file).includes("single-nat-gateway"));
  assert.ok(codes(window, file).includes("subnet-too-small"));
  assert.deepEqual(window.errors, []);
});

test("a value has a hover, inlay hints and a definition; a finding has actions", async () => {
  const window = new Window([folder]);
  start(window);
  const [file, eks] = [document("vpc.tf"), document("eks.tf")];
  window.open(file);
  window.open(eks);
  await until("findings", () => codes(window, file).includes("single-nat-gateway"));

  const hover = (await window.ask("registerHoverProvider", "provideHover", file, file.position("10.0.0.0/16"))) as Hover;
  assert.match(hover.contents.map((one) => one.value).join("\n"), /`vpc_cidr`.*92 of 607 nodes/s);

  const place = (await window.ask("registerDefinitionProvider", "provideDefinition", eks, eks.position("cpu_max_nodes"))) as Place[];
  assert.equal(path.basename(place[0]?.uri.fsPath ?? ""), "terraform.tfvars");

  const hints = (await window.ask("registerInlayHintsProvider", "provideInlayHints", file, file.all())) as Hint[];
  assert.ok(hints.some((hint) => JSON.stringify(hint.label).includes("full at 92 of 607 nodes")));

  const found = window.found(file).filter((one) => one.code?.value === "single-nat-gateway");
  const context = { diagnostics: found, only: undefined, triggerKind: 1 };
  const offered = (await window.ask("registerCodeActionsProvider", "provideCodeActions", file, found[0]?.range, context)) as Action[];
  const fix = offered.find((action) => action.title.includes("single_nat_gateway = false"));
  assert.ok(fix, offered.map((action) => action.title).join("\n"));
  assert.match(await written(window, fix), /false/);
  const ignore = offered.find((action) => /ignore single-nat-gateway/i.test(action.title));
  assert.match(await written(window, ignore), /# kcheck: ignore\[single-nat-gateway\]/);
});

/** What an action writes. */
async function written(window: Window, action: Action | undefined): Promise<string> {
  const whole = (await window.ask("registerCodeActionsProvider", "resolveCodeAction", action)) as Action;
  return whole.edit?.texts.join("\n") ?? "";
}

test("a file that changes on disk is checked again", async () => {
  const window = new Window([folder]);
  start(window);
  const file = document("vpc.tf");
  const text = file.getText();
  await until("findings", () => codes(window, file).includes("single-nat-gateway"));
  writeFileSync(file.fileName, text.replace("single_nat_gateway = true", "single_nat_gateway = false"));
  window.changed(file);
  await until("one finding less", () => !codes(window, file).includes("single-nat-gateway"));
  writeFileSync(file.fileName, text);
});

test("settings pass options, and start the server again", async () => {
  const window = new Window([folder]);
  start(window);
  const file = document("vpc.tf");
  window.open(file);
  await until("findings", () => codes(window, file).includes("subnet-too-small"));
  window.set("kcheck.arguments", ["--ignore=subnet-too-small"]);
  await until("fewer findings", () => codes(window, file).length > 0 && !codes(window, file).includes("subnet-too-small"));
  window.set("kcheck.enable", false);
  await until("no findings", () => codes(window, file).length === 0);
  await until("no status", () => !window.statusItem.visible);
  assert.deepEqual(window.errors, []);
});

test("options that make no sense are reported as kcheck says it", async () => {
  const window = new Window([folder]);
  window.settings.set("kcheck.arguments", ["--nodez=3"]);
  start(window);
  await until("a message", () => window.errors.length > 0);
  assert.match(window.errors[0]?.message ?? "", /kcheck lsp does not start: Error: No such option.*--nodez/);
  assert.equal(window.statusItem.command, "kcheck.restart");
});

test("a missing kcheck is said once, with the command that installs it", async () => {
  const window = new Window([folder]);
  setPath(path.join(scratch, "nothing here"), "relative", "");
  window.answer = "Copy Command";
  start(window);
  await until("a message", () => window.errors.length > 0);
  assert.match(window.errors[0]?.message ?? "", INSTALL);
  assert.match(window.clipboard, INSTALL);
  assert.match(window.statusItem.tooltip, /^kcheck is not installed.*\nClick to try again\.$/s);

  setPath(fake("installed", real()));
  await window.execute(window.statusItem.command);
  await until("a server", () => isThere(window));
  assert.equal(window.errors.length, 1);
});

test("documentation is a button away", async () => {
  const window = new Window([folder]);
  setPath();
  window.answer = "Open Documentation";
  start(window);
  await until("a page", () => window.opened.length > 0);
  const page = window.opened[0]?.split("/blob/main/")[1] ?? "";
  assert.ok(existsSync(path.join(HERE, "..", "..", page)), page);
});

test("a setting that names no program is named, and nothing else is tried", async () => {
  const window = new Window([folder]);
  window.settings.set("kcheck.path", path.join(folder, "kcheck"));
  window.answer = "Open Setting";
  start(window);
  await until("a message", () => window.executed.includes("workbench.action.openSettings"));
  assert.match(window.errors[0]?.message ?? "", /kcheck\.path is .*eks training.kcheck: there is no such executable/);
  window.set("kcheck.path", "bin/kcheck");
  await until("another message", () => window.errors.length > 1);
  assert.match(window.errors[1]?.message ?? "", /kcheck\.path is bin\/kcheck: an absolute path is needed/);
});

test("the setting wins over PATH, and may begin with the home folder", async () => {
  const home = path.join(scratch, "home");
  fake("home/bin", real());
  setPath(fake("old", "exit 2"));
  const before = process.env["HOME"];
  process.env["HOME"] = home;
  const window = new Window([folder]);
  window.settings.set("kcheck.path", "~/bin/kcheck");
  try {
    start(window);
    await until("a server", () => isThere(window));
  } finally {
    process.env["HOME"] = before;
  }
  assert.ok(window.statusItem.tooltip.endsWith(path.join(home, "bin", "kcheck")));
});

const OLD = 'echo "Error: there is no command lsp; did you mean kcheck check?" >&2; exit 2';
const NO_EXTRA = "echo \"Error: the language server needs its libraries: pip install 'kcheck[lsp]'\" >&2; exit 2";

test("a kcheck without a language server, or without its libraries, is said to be so", async () => {
  for (const [script, said] of [
    [OLD, /old\/kcheck is too old/],
    [NO_EXTRA, /old\/kcheck lacks its extra "lsp"/],
    ["echo nonsense", /old\/kcheck lsp does not start: .*/],
  ] as const) {
    const window = new Window([folder]);
    setPath(fake("old", script));
    start(window);
    await until("a message", () => window.errors.length > 0);
    assert.match(window.errors[0]?.message ?? "", said);
    await running?.deactivate();
    assert.equal(window.errors.length, 1);
  }
});

test("what the real kcheck says without its libraries is understood", () => {
  const libraries = path.join(scratch, "libraries");
  mkdirSync(libraries, { recursive: true });
  writeFileSync(path.join(libraries, "pygls.py"), "raise ModuleNotFoundError(name='pygls')\n");
  const env = { ...process.env, PYTHONPATH: libraries };
  const without = spawnSync("kcheck", ["lsp"], { encoding: "utf8", env }).stderr;
  assert.ok(without.includes("kcheck[lsp]"), without);
  const { stderr } = spawnSync("kcheck", ["lspx"], { encoding: "utf8" });
  assert.ok(stderr.includes("no command lspx"), stderr);
});

test("the first kcheck that works is used", async () => {
  const window = new Window([folder]);
  setPath(fake("old", OLD), fake("new", real()));
  start(window);
  await until("a server", () => isThere(window));
  assert.ok(window.statusItem.tooltip.endsWith(path.join("new", "kcheck")));
  assert.deepEqual(window.errors, []);
});

test("the selected Python environment is used where PATH has no kcheck, and the folder is trusted", async () => {
  const window = new Window([folder]);
  window.interpreter = path.join(fake("venv/bin", real()), "python");
  window.isTrusted = false;
  setPath();
  start(window);
  await until("a message", () => window.errors.length > 0);
  window.isTrusted = true;
  window.didGrantTrust.fire(undefined);
  await until("a server", () => isThere(window));
  window.interpreter = path.join(scratch, "other", "python");
  window.didSelectInterpreter.fire(undefined);
  await until("a message", () => window.errors.length > 1);
});

test("a program inside of a folder that is not trusted is not run, whatever link leads there", async () => {
  const window = new Window([folder]);
  const bin = path.join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  cpSync(path.join(fake("trap", `touch "${scratch}/ran"`), "kcheck"), path.join(bin, "kcheck"));
  symlinkSync(bin, path.join(scratch, "link"));
  setPath(bin, path.join(scratch, "link"));
  window.isTrusted = false;
  start(window);
  await until("a message", () => window.errors.length > 0);
  assert.match(window.errors[0]?.message ?? "", INSTALL);
  assert.ok(!existsSync(path.join(scratch, "ran")));
  rmSync(bin, { recursive: true });
});

test("a workspace cannot choose the program, nor options before it is trusted", () => {
  const manifest = JSON.parse(readFileSync(path.join(HERE, "package.json"), "utf8")) as Manifest;
  assert.equal(manifest.contributes.configuration.properties["kcheck.path"]?.scope, "machine");
  assert.equal(manifest.capabilities.untrustedWorkspaces.supported, "limited");
  assert.deepEqual(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations, ["kcheck.arguments", "kcheck.path"]);
});

test("a server that ends is started again, but not for ever", async () => {
  const pids = path.join(scratch, "pids");
  const started = (): string[] => (existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\n") : []);
  const window = new Window([folder]);
  setPath(fake("mortal", `echo $$ >> "${pids}"; ${real()}`));
  start(window);
  const file = document("vpc.tf");
  window.open(file);
  for (let count = 1; count <= 4; count++) {
    await until(`server ${count}`, () => started().length === count && codes(window, file).length > 0);
    await until("counts", () => window.statusItem.text.startsWith("kcheck $(error)"));
    assert.deepEqual(window.errors, []);
    process.kill(Number(started().at(-1)), "SIGKILL");
    await until("its end", () => codes(window, file).length === 0);
  }
  await until("a message", () => window.errors.length > 0);
  assert.match(window.errors[0]?.message ?? "", /ended unexpectedly/);
  assert.equal(window.statusItem.command, "kcheck.restart");
  await window.execute("kcheck.restart");
  await until("server 5", () => started().length === 5 && codes(window, file).length > 0);
});

test("a server that cannot be started again is said to have ended, once", async () => {
  const pids = path.join(scratch, "once");
  const window = new Window([folder]);
  setPath(fake("once-only", `[ -e "${pids}" ] && exit 1; echo $$ > "${pids}"; ${real()}`));
  start(window);
  await until("a server", () => isThere(window));
  process.kill(Number(readFileSync(pids, "utf8")), "SIGKILL");
  await until("a message", () => window.errors.length > 0);
  await running?.deactivate();
  assert.equal(window.errors.length, 1);
  assert.match(window.errors[0]?.message ?? "", /ended unexpectedly/);
});

test("closing the window ends the server", async () => {
  const pids = path.join(scratch, "last");
  const window = new Window([folder]);
  setPath(fake("mortal", `echo $$ > "${pids}"; ${real()}`));
  start(window);
  await until("a server", () => isThere(window));
  await running?.deactivate();
  const pid = Number(readFileSync(pids, "utf8"));
  await until("its end", () => !isAlive(pid));
});

test("pages are what kcheck prints about the folder, and go to the browser too", async () => {
  const window = new Window([folder]);
  const print = `printf '<!doctype html><title>%s in %s</title>' "$*" "$(pwd)"; exit 1`;
  setPath(fake("printer", `case "$1" in lsp) ${real()};; simulate) echo "Error: no job" >&2; exit 2;; *) ${print};; esac`));
  window.settings.set("kcheck.arguments", ["--nodes=3"]);
  start(window);
  await until("a server", () => isThere(window));
  await window.execute("kcheck.openReport");
  await window.execute("kcheck.openCapacity");
  const printed = ["check", "capacity"].map((page) => `<!doctype html><title>${page} --nodes=3 --format=html in ${folder}</title>`);
  assert.deepEqual(window.pages.map((page) => page.webview.html), printed);
  const [report] = window.pages;
  assert.ok(report !== undefined);
  report.active = false;
  await window.execute("kcheck.openInBrowser");
  assert.deepEqual(window.opened.map((uri) => readFileSync(URI.parse(uri).fsPath, "utf8")), [printed[1]]);

  await window.execute("kcheck.openSimulation");
  assert.equal(window.errors.at(-1)?.message, "kcheck simulate: Error: no job");
  assert.equal(window.pages.length, 2);
});

test("the report of the real kcheck loads nothing from anywhere", async () => {
  const window = new Window([folder]);
  start(window);
  await window.execute("kcheck.openReport");
  const html = window.pages[0]?.webview.html ?? "";
  assert.match(html, /<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;;/);
  assert.match(html, /Subnet 10\.0\.0\.0\/20 is full at 92 of 607 nodes/);
  assert.doesNotMatch(html, /<(link|iframe|object|embed|img)\b/);
});

test("without a folder there is no page", async () => {
  const window = new Window([]);
  start(window);
  await until("a server", () => isThere(window));
  await window.execute("kcheck.openReport");
  assert.deepEqual(window.notes, ["kcheck: open a folder first."]);
  assert.deepEqual(window.pages, []);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
