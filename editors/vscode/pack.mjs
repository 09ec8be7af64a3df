// Packs the built extension as kcheck.vsix: a zip of the files in package.json, and two XML files that describe them.
// @vscode/vsce makes the same of this extension, with 290 packages to install.

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { strToU8, zipSync } from "fflate";

process.chdir(path.dirname(fileURLToPath(import.meta.url)));
const extension = JSON.parse(await readFile("package.json", "utf8"));
const languages = extension.activationEvents.filter((event) => event.startsWith("onLanguage:"));
const tags = [...extension.keywords, ...languages.map((event) => event.slice("onLanguage:".length))];

/** XML in which each value is escaped. */
function xml(texts, ...values) {
  const escaped = values.map((value) => value.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`));
  return String.raw({ raw: texts }, ...escaped);
}

const MANIFEST = xml`<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${extension.name}" Version="${extension.version}" Publisher="${extension.publisher}" />
    <DisplayName>${extension.displayName}</DisplayName>
    <Description xml:space="preserve">${extension.description}</Description>
    <Tags>${[...new Set(tags)].join(",")}</Tags>
    <Categories>${extension.categories.join(",")}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${extension.engines.vscode}" />
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="${extension.extensionKind.join(",")}" />
      <Property Id="Microsoft.VisualStudio.Code.ExecutesCode" Value="true" />
      <Property Id="Microsoft.VisualStudio.Services.Links.Source" Value="${extension.repository.url}" />
      <Property Id="Microsoft.VisualStudio.Services.Links.Getstarted" Value="${extension.repository.url}" />
      <Property Id="Microsoft.VisualStudio.Services.Links.GitHub" Value="${extension.repository.url}" />
      <Property Id="Microsoft.VisualStudio.Services.Links.Support" Value="${extension.bugs.url}" />
      <Property Id="Microsoft.VisualStudio.Services.Links.Learn" Value="${extension.homepage}" />
      <Property Id="Microsoft.VisualStudio.Services.GitHubFlavoredMarkdown" Value="true" />
      <Property Id="Microsoft.VisualStudio.Services.Content.Pricing" Value="Free" />
    </Properties>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/${extension.icon}</Icon>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code" />
  </Installation>
  <Dependencies />
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/readme.md" Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Icons.Default" Path="extension/${extension.icon}" Addressable="true" />
  </Assets>
</PackageManifest>
`;
const CONTENT_TYPES = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".js" ContentType="application/javascript" />
  <Default Extension=".json" ContentType="application/json" />
  <Default Extension=".md" ContentType="text/markdown" />
  <Default Extension=".png" ContentType="image/png" />
  <Default Extension=".txt" ContentType="text/plain" />
  <Default Extension=".vsixmanifest" ContentType="text/xml" />
</Types>
`;
/** The names under which VS Code and the marketplace look for these files. */
const RENAMED = { LICENSE: "LICENSE.txt", "README.md": "readme.md" };

const files = { "extension.vsixmanifest": strToU8(MANIFEST), "[Content_Types].xml": strToU8(CONTENT_TYPES) };
for (const name of ["package.json", ...extension.files]) {
  files[`extension/${RENAMED[name] ?? name}`] = new Uint8Array(await readFile(name));
}
await writeFile("kcheck.vsix", zipSync(files));
