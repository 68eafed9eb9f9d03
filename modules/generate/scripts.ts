/** The installers as texts: the service is one bundle and reads no files beside it. */
import { readFileSync } from "node:fs";
import { HEADER } from "./files.ts";

const SCRIPTS = { "install.sh": "installSh", "install.ps1": "installPs1" };

/** File name → text, for `modules/install/generated`. */
export function scripts(): Record<string, string> {
  const files: Record<string, string> = {};
  for (const [file, name] of Object.entries(SCRIPTS)) {
    const text = readFileSync(new URL(`../install/scripts/${file}`, import.meta.url), "utf8");
    files[`${file.replace(".", "-")}.ts`] = `${HEADER}export const ${name} = ${JSON.stringify(text)};\n`;
  }
  return files;
}
