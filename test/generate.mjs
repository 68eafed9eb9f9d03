/** Generated files are what the generators write, and writing them again changes nothing. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const git = (...args) => execFileSync("git", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
const files = () =>
  git("ls-files", "-co", "--exclude-standard")
    .split("\n")
    .filter((f) =>
      /(^|\/)(contract|generated|bindings)\/|^modules\/hcl\/|^modules\/charts\/|^server\/agent\/crds\/|^SETTINGS\.md$/.test(
        f,
      ),
    );
const prints = () => new Map(files().map((f) => [f, createHash("sha256").update(readFileSync(f)).digest("hex")]));

const before = prints();
execFileSync("npm", ["run", "-s", "generate"], { stdio: "inherit" });
const after = prints();
const changed = [...new Set([...before.keys(), ...after.keys()])].filter((f) => before.get(f) !== after.get(f));
if (changed.length) {
  console.error(
    `\`npm run generate\` changed these files; commit what it writes:\n${changed.map((f) => `  ${f}`).join("\n")}`,
  );
  process.exit(1);
}
console.log(`${after.size} generated files, none changed`);
