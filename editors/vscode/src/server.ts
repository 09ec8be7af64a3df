/** Keeps a server running that fits the settings. */

import { homedir } from "node:os";

import { type LogOutputChannel, workspace } from "vscode";

import { Connection, StartError } from "./client";
import { besideInterpreter, inPath, namedBySetting, outside } from "./executable";
import { NOT_FOUND, noProgram, type Problem, showCrash, showProblem, startProblem } from "./messages";
import { PythonEnvironment } from "./python";
import { readSettings } from "./settings";
import type { Status } from "./status";

export class Server {
  private readonly python = new PythonEnvironment(() => void this.restart());
  private connection: Connection | undefined;
  /** Starts and stops, one after another. */
  private pending: Promise<void> = Promise.resolve();
  private nextRestart: Promise<void> | undefined;

  constructor(
    private readonly channel: LogOutputChannel,
    private readonly status: Status,
  ) {}

  /** Start the server; one that runs is stopped before. */
  restart(): Promise<void> {
    this.nextRestart ??= this.enqueue(async () => {
      this.nextRestart = undefined; // what is asked for from now on needs another one
      await this.end();
      await this.begin();
    });
    return this.nextRestart;
  }

  async stop(): Promise<void> {
    this.python.dispose();
    await this.enqueue(() => this.end());
  }

  /** The executable of the server, or the first one where none runs. */
  async executable(): Promise<string | undefined> {
    if (this.connection !== undefined) {
      return this.connection.executable;
    }
    return (await this.executables().next()).value;
  }

  /** The executables to try, best first. */
  private async *executables(): AsyncGenerator<string> {
    const setting = readSettings().path;
    if (setting !== "") {
      yield* await namedBySetting(setting, homedir());
      return;
    }
    const found = await inPath(process.env["PATH"] ?? "");
    const folders = workspace.workspaceFolders?.map((folder) => folder.uri.fsPath) ?? [];
    yield* workspace.isTrusted ? found : await outside(found, folders);
    const interpreter = await this.python.interpreter();
    if (interpreter !== undefined) {
      yield* await besideInterpreter(interpreter);
    }
  }

  private enqueue(action: () => Promise<void>): Promise<void> {
    this.pending = this.pending.then(action).catch((error: unknown) => this.channel.error(String(error)));
    return this.pending;
  }

  private async begin(): Promise<void> {
    const settings = readSettings();
    if (!settings.enable) {
      this.status.off();
      return;
    }
    this.status.starting();
    let problem: Problem | undefined;
    for await (const executable of this.executables()) {
      const found = await this.connect(executable, settings.arguments);
      if (found === undefined) {
        return;
      }
      problem ??= found;
    }
    problem ??= settings.path === "" ? NOT_FOUND : noProgram(settings.path);
    this.channel.error(problem.message);
    this.status.failed(problem.message);
    void showProblem(problem);
  }

  /** Start the server of an executable; returns why that does not work. */
  private async connect(executable: string, args: readonly string[]): Promise<Problem | undefined> {
    this.channel.info(`starting ${[executable, "lsp", ...args].join(" ")}`);
    const connection = new Connection({
      executable,
      arguments: args,
      channel: this.channel,
      onCheck: (begins) => this.status.checking(begins),
      onRestart: () => this.status.restarting(),
      onGiveUp: () => {
        this.status.failed("kcheck: the server ended");
        void showCrash();
      },
    });
    try {
      this.status.running(await connection.start(), executable);
      this.connection = connection;
      return undefined;
    } catch (error) {
      await connection.stop();
      return startProblem(executable, error instanceof StartError ? error.written : [String(error)]);
    }
  }

  private async end(): Promise<void> {
    await this.connection?.stop();
    this.connection = undefined;
  }
}
