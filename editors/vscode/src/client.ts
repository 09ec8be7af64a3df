/** One server and the client that talks to it. */

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

import type { LogOutputChannel } from "vscode";
import {
  CloseAction,
  type CloseHandlerResult,
  type DocumentFilter,
  ErrorAction,
  type ErrorHandler,
  type ErrorHandlerResult,
  LanguageClient,
  type LanguageClientOptions,
  type Message,
  RevealOutputChannelOn,
  State,
} from "vscode-languageclient/node";

const LANGUAGES = ["helm", "hcl", "opentofu", "opentofu-vars", "terraform", "terraform-vars", "terragrunt", "yaml"];
/** Without an extension for Terraform, its files are plain text: names count, too. */
const FILES = "**/{*.tf,*.tfvars,*.hcl,*.yaml,*.yml,*.tf.json,*.tfvars.json,Kustomization}";

const MOST_RESTARTS = 3;
const RESTARTS_WITHIN = 3 * 60_000; // milliseconds
const LAST_WORDS_WITHIN = 2_000; // milliseconds

export interface Launch {
  readonly executable: string;
  readonly arguments: readonly string[];
  readonly channel: LogOutputChannel;
  /** The server begins to check, or has ended. */
  readonly onCheck: (begins: boolean) => void;
  /** The server ended too often, or could not be started again. */
  readonly onGiveUp: () => void;
}

/** The server does not start; `written` is what it wrote to stderr. */
export class StartError extends Error {
  constructor(readonly written: readonly string[]) {
    super("the server does not start");
  }
}

export class Connection {
  private readonly client: QuietClient;
  private readonly written: string[] = [];
  private isStarted = false;
  private isStopping = false;
  private lastWords: Promise<void> = Promise.resolve();

  constructor(private readonly launch: Launch) {
    const server = { command: launch.executable, args: ["lsp", ...launch.arguments] };
    this.client = new QuietClient("kcheck", "kcheck", server, this.options());
  }

  get executable(): string {
    return this.launch.executable;
  }

  /**
   * Start the server; returns its version.
   *
   * @throws {StartError} it cannot be run, or ends before it answers.
   */
  async start(): Promise<string> {
    try {
      await this.client.start();
    } catch (error) {
      await Promise.race([this.lastWords, delay(LAST_WORDS_WITHIN)]);
      throw new StartError(this.written.length > 0 ? this.written : [error instanceof Error ? error.message : String(error)]);
    }
    this.isStarted = true;
    this.client.onDidChangeState((change) => {
      if (change.newState === State.StartFailed && !this.isStopping) {
        this.launch.onGiveUp();
      }
    });
    return this.client.initializeResult?.serverInfo?.version ?? "";
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    const process = this.client.serverProcess;
    try {
      await this.client.dispose();
    } catch {
      process?.kill(); // it has not started yet, or does not answer
    }
  }

  private options(): LanguageClientOptions {
    const names: DocumentFilter = { scheme: "file", pattern: FILES };
    return {
      documentSelector: [names, ...LANGUAGES.map((language): DocumentFilter => ({ scheme: "file", language }))],
      errorHandler: new Restarts(() => this.client.isRunning(), this.launch.onGiveUp),
      initializationFailedHandler: () => false,
      middleware: {
        handleWorkDoneProgress: (_token, progress) => {
          if (progress.kind !== "report") {
            this.launch.onCheck(progress.kind === "begin");
          }
        },
      },
      outputChannel: this.launch.channel,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      stdioOptions: { stdout: () => undefined, stderr: (input) => this.log(input) },
    };
  }

  private log(input: Readable): void {
    const lines = createInterface({ input, crlfDelay: Infinity });
    this.lastWords = new Promise((resolve) => lines.once("close", resolve));
    lines.on("line", (line) => {
      this.launch.channel.info(line);
      if (!this.isStarted) {
        this.written.push(line);
      }
    });
  }
}

/** A client that only logs what goes wrong: what the user has to know is said once, elsewhere. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** Starts a server again that ended, but not one that ends before it answers, or all the time. */
class Restarts implements ErrorHandler {
  private readonly times: number[] = [];

  constructor(
    private readonly isRunning: () => boolean,
    private readonly onGiveUp: () => void,
  ) {}

  error(_error: Error, _message: Message | undefined, count: number | undefined): ErrorHandlerResult {
    return { action: count !== undefined && count <= MOST_RESTARTS ? ErrorAction.Continue : ErrorAction.Shutdown };
  }

  closed(): CloseHandlerResult {
    if (!this.isRunning()) {
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    const now = Date.now();
    this.times.push(now);
    if (this.times.filter((time) => now - time < RESTARTS_WITHIN).length <= MOST_RESTARTS) {
      return { action: CloseAction.Restart, handled: true };
    }
    this.onGiveUp();
    return { action: CloseAction.DoNotRestart, handled: true };
  }
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
