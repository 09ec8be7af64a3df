/** The item in the status bar. */

import { type Diagnostic, DiagnosticSeverity, Disposable, languages, StatusBarAlignment, ThemeColor, type Uri, window } from "vscode";

const SOURCE = "kcheck";

interface Counts {
  readonly errors: number;
  readonly warnings: number;
}

export class Status {
  private readonly item = window.createStatusBarItem("kcheck.status", StatusBarAlignment.Left);
  private readonly counts = new Map<string, Counts>();
  private readonly listener: Disposable;
  private checks = 0;
  private server: string | undefined;

  constructor() {
    this.item.name = "kcheck";
    this.listener = languages.onDidChangeDiagnostics((event) => this.count(event.uris));
  }

  /** The server starts. */
  starting(): void {
    this.reset();
    this.show("$(sync~spin) kcheck", "kcheck: starting", "kcheck.showOutput");
  }

  /** The server answers. */
  running(version: string, executable: string): void {
    this.server = `kcheck ${version}\n${executable}`;
    this.update();
  }

  /** The server checks, or has done. */
  checking(begins: boolean): void {
    this.checks = Math.max(0, this.checks + (begins ? 1 : -1));
    this.update();
  }

  /** The server ended, and is started again: it says no more that a check has ended. */
  restarting(): void {
    this.checks = 0;
    this.update();
  }

  /** There is no server, for this reason. */
  failed(reason: string): void {
    this.reset();
    this.show("$(warning) kcheck", `${reason}\nClick to try again.`, "kcheck.restart");
    this.item.backgroundColor = new ThemeColor("statusBarItem.warningBackground");
  }

  /** There is no server, and none is wanted. */
  off(): void {
    this.reset();
    this.item.hide();
  }

  dispose(): void {
    this.listener.dispose();
    this.item.dispose();
  }

  private reset(): void {
    this.checks = 0;
    this.server = undefined;
  }

  private count(files: readonly Uri[]): void {
    for (const file of files) {
      const own = languages.getDiagnostics(file).filter((one) => one.source === SOURCE);
      const counts = { errors: number(own, DiagnosticSeverity.Error), warnings: number(own, DiagnosticSeverity.Warning) };
      if (counts.errors + counts.warnings > 0) {
        this.counts.set(file.toString(), counts);
      } else {
        this.counts.delete(file.toString());
      }
    }
    this.update();
  }

  private update(): void {
    if (this.server === undefined) {
      return;
    }
    let errors = 0;
    let warnings = 0;
    for (const counts of this.counts.values()) {
      errors += counts.errors;
      warnings += counts.warnings;
    }
    const said = `${plural(errors, "error")}, ${plural(warnings, "warning")}`;
    const text = this.checks > 0 ? "$(sync~spin) kcheck" : errors + warnings === 0 ? "$(check) kcheck" : `kcheck $(error) ${errors} $(warning) ${warnings}`;
    this.show(text, `${this.checks > 0 ? "kcheck: checking" : `kcheck: ${said}`}\n${this.server}`, "workbench.actions.view.problems");
  }

  private show(text: string, tooltip: string, command: string): void {
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.command = command;
    this.item.accessibilityInformation = { label: tooltip.split("\n")[0] ?? "" };
    this.item.backgroundColor = undefined;
    this.item.show();
  }
}

function number(diagnostics: readonly Diagnostic[], severity: DiagnosticSeverity): number {
  return diagnostics.filter((one) => one.severity === severity).length;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
