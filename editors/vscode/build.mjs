// Bundles the extension into one file, and gathers what is packed with it; with --tests, bundles the tests too.

import { copyFile, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

process.chdir(path.dirname(fileURLToPath(import.meta.url)));
const ROOT = path.join("..", "..");
const OPTIONS = {
  bundle: true,
  external: ["vscode"],
  format: "cjs",
  logLevel: "warning",
  platform: "node",
  target: "node20", // that of the oldest VS Code in package.json
};

/** The names, versions and licences of the packages in a bundle. */
async function notices(metafile) {
  const folders = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input);
    if (found !== null) {
      folders.add(found[0]);
    }
  }
  const texts = [];
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry));
    if (file === undefined) {
      throw new Error(`${name} has no licence file`);
    }
    texts.push(`${name} ${version} (${license})\n\n${(await readFile(path.join(folder, file), "utf8")).trim()}\n`);
  }
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

await rm("out", { force: true, recursive: true });
const { metafile } = await build({
  ...OPTIONS,
  entryPoints: ["src/extension.ts"],
  metafile: true,
  minify: true,
  outfile: "out/extension.js",
});
await writeFile("ThirdPartyNotices.txt", await notices(metafile));
await copyFile(path.join(ROOT, "LICENSE"), "LICENSE");
await copyFile(path.join(ROOT, "profiles", "settings.schema.json"), "kcheck.schema.json");
if (process.argv.includes("--tests")) {
  const tests = (await readdir("test")).filter((name) => name.endsWith(".test.ts"));
  await build({ ...OPTIONS, entryPoints: tests.map((name) => path.join("test", name)), outdir: "out/test" });
}
