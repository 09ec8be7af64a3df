/** The Python environment that is selected in the window. */

import { type Disposable, type Event, type Uri, extensions, workspace } from "vscode";

interface Environment {
  readonly executable: { readonly uri?: Uri };
}

/** What is used here of the API that the Python extension exports. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: Uri): { readonly id: string; readonly path: string };
    resolveEnvironment(environment: { readonly id: string; readonly path: string }): Promise<Environment | undefined>;
    readonly onDidChangeActiveEnvironmentPath: Event<unknown>;
  };
}

/** The selected Python environment. Asking for it starts the Python extension. */
export class PythonEnvironment {
  private listener: Disposable | undefined;

  constructor(private readonly onDidChange: () => void) {}

  /** The interpreter; none in a folder that is not trusted, as it may be inside of it. */
  async interpreter(): Promise<string | undefined> {
    if (!workspace.isTrusted) {
      return undefined;
    }
    const extension = extensions.getExtension<PythonApi | undefined>("ms-python.python");
    try {
      const environments = (await extension?.activate())?.environments;
      this.listener ??= environments?.onDidChangeActiveEnvironmentPath(this.onDidChange);
      const selected = environments?.getActiveEnvironmentPath(workspace.workspaceFolders?.[0]?.uri);
      const environment = selected && (await environments?.resolveEnvironment(selected));
      return environment?.executable.uri?.fsPath;
    } catch {
      return undefined; // the Python extension says itself what is wrong with it
    }
  }

  dispose(): void {
    this.listener?.dispose();
  }
}
