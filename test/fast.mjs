/**
 * `npm run fast`: lint, types, house rules, and the unit tests that depend on the files you changed since `main`. A few minutes at most;
 * `npm test` is what decides. A base other than `main`: `npm run fast -- BASE`.
 */
import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { begin } from "./progress.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const said = (command, args) => spawnSync(command, args, { cwd: root, encoding: "utf8" }).stdout?.trim() ?? "";
const base = said("git", ["merge-base", "HEAD", process.argv[2] ?? "main"]) || "HEAD";
// On main itself: the last commit and what is not committed yet.
const since = base === said("git", ["rev-parse", "HEAD"]) ? "HEAD~1" : base;
const jest = [process.execPath, "--experimental-vm-modules", "--no-warnings", "node_modules/jest/bin/jest.js"];
const steps = [
  ["lint", ["npx", "biome", "ci", "--diagnostic-level=error", "."]],
  ["types", ["npm", "run", "-s", "check"]],
  ["house", [...jest, "test/house.test.ts"]],
  ["unit tests of changed files", [...jest, `--changedSince=${since}`, "--passWithNoTests"]],
];

let failed = 0;
for (const [name, [command, ...args]] of steps) {
  const step = begin(name);
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });
  if (status === 0) {
    step.done();
    continue;
  }
  failed++;
  step.fail();
  console.log(`${stdout}${stderr}`.trimEnd());
}
process.exitCode = failed ? 1 : 0;
