/** The settings of the extension. */

import { workspace } from "vscode";

export interface Settings {
  readonly enable: boolean;
  readonly path: string;
  readonly arguments: readonly string[];
}

export function readSettings(): Settings {
  const section = workspace.getConfiguration("kcheck");
  return {
    enable: section.get<boolean>("enable", true),
    path: section.get<string>("path", "").trim(),
    arguments: section.get<string[]>("arguments", []),
  };
}

/** The settings that a server starts with. */
export const START_SETTINGS = ["kcheck.enable", "kcheck.path", "kcheck.arguments"] as const;
