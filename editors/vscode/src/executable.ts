/** Where kcheck is installed. */

import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import * as path from "node:path";

/** The executable. Scripts (.cmd, .bat) would need a shell. */
const NAME = process.platform === "win32" ? "kcheck.exe" : "kcheck";

/** The executable that the setting names, if it is one. */
export async function namedBySetting(setting: string, home: string): Promise<string[]> {
  const file = /^~[\\/]/.test(setting) ? path.join(home, setting.slice(2)) : setting;
  return path.isAbsolute(file) ? programs([file]) : [];
}

/** The executables in PATH, first one first. A relative entry would name a folder of the workspace: it does not count. */
export async function inPath(variable: string): Promise<string[]> {
  const folders = variable.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return programs(folders.map((folder) => path.join(folder, NAME)));
}

/** The executable of a Python environment. */
export async function besideInterpreter(interpreter: string): Promise<string[]> {
  const folder = path.dirname(interpreter);
  return programs([path.join(folder, NAME), path.join(folder, "Scripts", NAME)]); // Scripts: Python itself on Windows
}

/** The files outside of some folders, whatever links lead there. */
export async function outside(files: readonly string[], folders: readonly string[]): Promise<string[]> {
  const result: string[] = [];
  for (const file of files) {
    const pairs = folders.map(async (folder) => contains(folder, file) || contains(await real(folder), await real(file)));
    if (!(await Promise.all(pairs)).includes(true)) {
      result.push(file);
    }
  }
  return result;
}

async function programs(files: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const file of files) {
    try {
      await access(file, constants.X_OK);
      if ((await stat(file)).isFile()) {
        found.add(file);
      }
    } catch {
      // not there, or not to be run
    }
  }
  return [...found];
}

async function real(file: string): Promise<string> {
  return realpath(file).catch(() => file);
}

function contains(folder: string, file: string): boolean {
  const relative = path.relative(folder, file);
  return !path.isAbsolute(relative) && relative.split(path.sep)[0] !== "..";
}
