/**
 * As much of the API of VS Code as the extension and its language client need, without a window.
 *
 * What the extension shows is kept in lists, what it registers is called by the tests. Events nobody fires here, and
 * classes nobody looks into, are made up when they are asked for.
 */

import { minimatch } from "minimatch";
import { URI } from "vscode-uri";

type Listener = (event: unknown) => unknown;

export class Disposable {
  constructor(private readonly action: () => void = () => undefined) {}
  static from(...all: { dispose(): void }[]): Disposable {
    return new Disposable(() => all.forEach((one) => one.dispose()));
  }
  dispose(): void {
    this.action();
  }
}

export class EventEmitter {
  private readonly listeners = new Set<Listener>();
  readonly event = (listener: Listener, self?: unknown, disposables?: Disposable[]): Disposable => {
    const bound: Listener = (event) => listener.call(self, event);
    this.listeners.add(bound);
    const disposable = new Disposable(() => this.listeners.delete(bound));
    disposables?.push(disposable);
    return disposable;
  };
  fire(event: unknown): void {
    [...this.listeners].forEach((listener) => listener(event));
  }
  dispose(): void {
    this.listeners.clear();
  }
}

class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

class Range {
  readonly start: Position;
  readonly end: Position;
  constructor(line: number, character: number, endLine: number, endCharacter: number) {
    this.start = new Position(line, character);
    this.end = new Position(endLine, endCharacter);
  }
}

export interface Diagnostic {
  readonly range: Range;
  readonly message: string;
  readonly severity: number;
  readonly source?: string;
  readonly code?: { readonly value: string };
}

class CancellationTokenSource {
  readonly token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() };
  cancel(): void {
    this.token.isCancellationRequested = true;
  }
  dispose(): void {}
}

class CodeActionKind {
  static readonly Empty = new CodeActionKind("");
  constructor(readonly value: string) {}
  append(part: string): CodeActionKind {
    return new CodeActionKind(this.value === "" ? part : `${this.value}.${part}`);
  }
}

class TextEdit {
  constructor(
    readonly range: Range,
    readonly newText: string,
  ) {}
}

class SnippetTextEdit {
  constructor(
    readonly range: Range,
    readonly snippet: { readonly value: string },
  ) {}
}

/** What an edit writes, snippets included. */
export class WorkspaceEdit {
  readonly texts: string[] = [];
  set(_uri: URI, edits: readonly (readonly [TextEdit | SnippetTextEdit, unknown])[]): void {
    this.texts.push(...edits.map(([edit]) => (edit instanceof TextEdit ? edit.newText : edit.snippet.value)));
  }
}

interface Filter {
  readonly scheme?: string;
  readonly language?: string;
  readonly pattern?: string;
}

/** A text that is open. */
export class Document {
  readonly uri: URI;
  version = 1;
  constructor(
    readonly fileName: string,
    readonly languageId: string,
    private text: string,
  ) {
    this.uri = URI.file(fileName);
  }
  get lineCount(): number {
    return this.text.split("\n").length;
  }
  getText(): string {
    return this.text;
  }
  /** Where a text stands. */
  position(of: string): Position {
    const before = this.text.slice(0, this.text.indexOf(of)).split("\n");
    return new Position(before.length - 1, before.at(-1)?.length ?? 0);
  }
  all(): Range {
    return new Range(0, 0, this.lineCount, 0);
  }
  replace(text: string): void {
    this.text = text;
    this.version += 1;
  }
}

/** What is asked for by name and is not there: an event that never comes, or a class whose objects nobody looks into. */
function madeUp<T extends object>(known: T): T {
  return new Proxy(known, {
    get(target, name) {
      if (Reflect.has(target, name) || typeof name === "symbol") {
        return Reflect.get(target, name) as unknown;
      }
      const made = /^on[A-Z]/.test(name) ? new EventEmitter().event : /^[A-Z]/.test(name) ? class {} : undefined;
      Reflect.set(target, name, made);
      return made;
    },
  });
}

export interface Provider {
  readonly selector: readonly Filter[];
  readonly provider: Record<string, (...args: unknown[]) => Promise<unknown>>;
}

/** One window of VS Code. */
export class Window {
  readonly settings = new Map<string, unknown>();
  readonly providers = new Map<string, Provider>();
  readonly commands = new Map<string, (...args: unknown[]) => unknown>();
  readonly errors: { readonly message: string; readonly buttons: readonly string[] }[] = [];
  readonly notes: string[] = [];
  readonly executed: string[] = [];
  readonly opened: string[] = [];
  readonly log: string[] = [];
  readonly pages: { readonly title: string; readonly webview: { html: string }; active: boolean }[] = [];
  readonly statusItem: { text: string; tooltip: string; command: string; visible: boolean } & Record<string, unknown>;
  readonly documents: Document[] = [];
  readonly watchers: { readonly pattern: string; readonly changed: EventEmitter }[] = [];
  /** The button that the user presses in the next message. */
  answer: string | undefined;
  clipboard = "";
  isTrusted = true;
  interpreter: string | undefined;

  readonly didChangeConfiguration = new EventEmitter();
  readonly didGrantTrust = new EventEmitter();
  readonly didSelectInterpreter = new EventEmitter();
  private readonly didChangeDiagnostics = new EventEmitter();
  private readonly didOpen = new EventEmitter();
  private readonly didChange = new EventEmitter();
  private readonly diagnostics = new Map<string, readonly Diagnostic[]>();

  constructor(readonly folders: readonly string[]) {
    this.statusItem = {
      text: "",
      tooltip: "",
      command: "",
      visible: false,
      show: () => (this.statusItem.visible = true),
      hide: () => (this.statusItem.visible = false),
      dispose: () => (this.statusItem.visible = false),
    };
  }

  /** The API as the extension sees it. */
  api(): object {
    const trust: { readonly isTrusted: boolean } = this;
    return madeUp({
      __esModule: true, // the client imports this object, not a copy of it
      version: "1.91.0",
      CancellationTokenSource,
      CodeAction: class {
        constructor(readonly title: string) {}
      },
      CodeActionKind,
      CompletionItemKind: { Text: 0 },
      DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
      DiagnosticTag: { Unnecessary: 1, Deprecated: 2 },
      DiagnosticRelatedInformation: class {
        constructor(
          readonly location: object,
          readonly message: string,
        ) {}
      },
      Disposable,
      EventEmitter,
      Diagnostic: class {
        constructor(
          readonly range: Range,
          readonly message: string,
          readonly severity: number,
        ) {}
      },
      InlayHint: class {
        constructor(
          readonly position: Position,
          readonly label: unknown,
        ) {}
      },
      Location: class {
        constructor(
          readonly uri: URI,
          readonly range: Range,
        ) {}
      },
      LogLevel: { Trace: 1, Info: 3 },
      MarkdownString: class {
        constructor(public value = "") {}
        appendCodeblock(text: string): void {
          this.value += text;
        }
      },
      Hover: class {
        readonly contents: readonly unknown[];
        constructor(contents: unknown) {
          this.contents = [contents].flat();
        }
      },
      Position,
      ProgressLocation: { Notification: 15, Window: 10 },
      Range,
      SnippetString: class {
        constructor(readonly value: string) {}
      },
      SnippetTextEdit,
      StatusBarAlignment: { Left: 1 },
      SymbolKind: {},
      TextEdit,
      Uri: Object.assign(URI, { joinPath: (uri: URI, ...names: string[]) => URI.file([uri.fsPath, ...names].join("/")) }),
      ViewColumn: { Active: -1 },
      WorkspaceEdit,
      commands: madeUp({ executeCommand: this.execute, registerCommand: this.register }),
      env: madeUp({
        appName: "Test",
        clipboard: { writeText: (text: string) => (this.clipboard = text) },
        language: "en",
        openExternal: (uri: URI) => this.opened.push(uri.toString(true)),
      }),
      extensions: { getExtension: () => this.interpreter && { activate: () => this.pythonApi() } },
      languages: new Proxy(
        {
          createDiagnosticCollection: () => this.collection(),
          getDiagnostics: (uri: URI) => this.diagnostics.get(uri.toString()) ?? [],
          match: (selector: readonly Filter[], document: Document) => (matches(selector, document) ? 10 : 0),
          onDidChangeDiagnostics: this.didChangeDiagnostics.event,
        },
        {
          get: (target, name) =>
            Reflect.get(target, name) ??
            ((selector: readonly Filter[], provider: Provider["provider"]) => {
              this.providers.set(String(name), { selector, provider });
              return new Disposable(() => this.providers.delete(String(name)));
            }),
        },
      ),
      window: madeUp({
        createOutputChannel: () => this.channel(),
        createStatusBarItem: () => this.statusItem,
        createWebviewPanel: (_type: string, title: string) => {
          const page = { title, webview: { html: "" }, active: true, onDidDispose: new EventEmitter().event };
          this.pages.push(page);
          return page;
        },
        showInformationMessage: (message: string) => this.notes.push(message),
        showErrorMessage: (message: string, ...buttons: string[]) => {
          this.errors.push({ message, buttons });
          const answer = this.answer;
          this.answer = undefined;
          return Promise.resolve(answer);
        },
        tabGroups: madeUp({ all: [] }),
        visibleTextEditors: [],
        withProgress: (_options: object, task: (...args: unknown[]) => unknown) => task({}, new CancellationTokenSource().token),
      }),
      workspace: madeUp({
        createFileSystemWatcher: (pattern: string) => {
          const changed = new EventEmitter();
          this.watchers.push({ pattern, changed });
          return madeUp({ dispose: () => undefined, onDidChange: changed.event });
        },
        fs: {},
        getConfiguration: (section: string) => ({
          get: (name: string, otherwise: unknown) => this.settings.get(`${section}.${name}`) ?? otherwise,
        }),
        getWorkspaceFolder: () => undefined,
        get isTrusted(): boolean {
          return trust.isTrusted;
        },
        notebookDocuments: [],
        onDidChangeConfiguration: this.didChangeConfiguration.event,
        onDidChangeTextDocument: this.didChange.event,
        onDidGrantWorkspaceTrust: this.didGrantTrust.event,
        onDidOpenTextDocument: this.didOpen.event,
        textDocuments: this.documents,
        workspaceFolders: this.folders.map((folder, index) => ({ index, name: folder, uri: URI.file(folder) })),
      }),
    });
  }

  /** Set a setting, as the user does. */
  set(name: string, value: unknown): void {
    this.settings.set(name, value);
    this.didChangeConfiguration.fire({ affectsConfiguration: (changed: string) => changed === name });
  }

  open(document: Document): void {
    this.documents.push(document);
    this.didOpen.fire(document);
  }

  /** Type a text in place of what stands there. */
  type(document: Document, text: string): void {
    const range = document.all();
    const rangeLength = document.getText().length;
    document.replace(text);
    this.didChange.fire({ document, contentChanges: [{ range, rangeLength, rangeOffset: 0, text }] });
  }

  /** Tell those who watch a file that it has changed on disk. */
  changed(document: Document): void {
    this.watchers.filter((one) => minimatch(document.fileName, one.pattern)).forEach((one) => one.changed.fire(document.uri));
  }

  /** The findings in a file. */
  found(document: Document): readonly Diagnostic[] {
    return this.diagnostics.get(document.uri.toString()) ?? [];
  }

  /** Ask a provider about a document, if it is for such documents, or about something that it gave. */
  async ask(kind: string, method: string, about: unknown, ...args: unknown[]): Promise<unknown> {
    const found = this.providers.get(kind);
    if (found === undefined || (about instanceof Document && !matches(found.selector, about))) {
      throw new Error(`nobody answers ${kind}`);
    }
    return found.provider[method]?.(about, ...args, new CancellationTokenSource().token);
  }

  readonly execute = (command: string, ...args: unknown[]): unknown => {
    this.executed.push(command);
    return this.commands.get(command)?.(...args);
  };

  private readonly register = (command: string, action: (...args: unknown[]) => unknown): Disposable => {
    this.commands.set(command, action);
    return new Disposable(() => this.commands.delete(command));
  };

  private channel(): object {
    const write = (text: string): number => this.log.push(text);
    const levels = { append: write, appendLine: write, debug: write, error: write, info: write, trace: write, warn: write };
    return madeUp({ ...levels, dispose: () => undefined, logLevel: 3, show: () => this.execute("output") });
  }

  private collection(): object {
    const set = (uri: URI, found: readonly Diagnostic[] | undefined): void => {
      this.diagnostics.set(uri.toString(), found ?? []);
      this.didChangeDiagnostics.fire({ uris: [uri] });
    };
    const clear = (): void => [...this.diagnostics.keys()].forEach((key) => set(URI.parse(key), []));
    return { clear, delete: (uri: URI) => set(uri, []), dispose: clear, set };
  }

  private pythonApi(): object {
    return {
      environments: {
        getActiveEnvironmentPath: () => ({ id: "selected", path: this.interpreter }),
        onDidChangeActiveEnvironmentPath: this.didSelectInterpreter.event,
        resolveEnvironment: () => Promise.resolve({ executable: { uri: URI.file(this.interpreter ?? "") } }),
      },
    };
  }
}

function matches(selector: readonly Filter[], document: Document): boolean {
  return selector.some(
    (filter) =>
      (filter.scheme === undefined || filter.scheme === "file") &&
      (filter.language === undefined || filter.language === document.languageId) &&
      (filter.pattern === undefined || minimatch(document.fileName, filter.pattern)),
  );
}
