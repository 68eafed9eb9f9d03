import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { settingNames, settingsPage } from "./settings.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const table = readFileSync(join(root, "server/settings.yaml"), "utf8");

/** Variables that programs set for their own child processes and scripts, or that stand for a part of a text. */
const INTERNAL = new Set([
  "OUTPOST_KEEPER",
  "OUTPOST_HANDED_",
  "OUTPOST_SECRET_",
  "OUTPOST_VERSION",
  "OUTPOST_PROXY_USER",
  "OUTPOST_PROXY_PASSWORD",
  "OUTPOST_DIR",
  "OUTPOST_ENGINE",
]);

function namesInCode(): Set<string> {
  const names = new Set<string>();
  for (const folder of ["server", "provider", "openapi"])
    for (const file of readdirSync(join(root, folder), { recursive: true }) as string[]) {
      if (!file.endsWith(".ts") || file.endsWith(".test.ts") || /(^|\/)(testing|generated)\//.test(file)) continue;
      for (const [name] of readFileSync(join(root, folder, file), "utf8").matchAll(/\bOUTPOST_[A-Z0-9_]+/g))
        names.add(name);
    }
  return names;
}

test("every variable that the code reads stands in the table of settings, and no other", () => {
  const described = settingNames(table);
  const read = namesInCode();
  expect([...read].filter((name) => !described.has(name) && !INTERNAL.has(name)).sort()).toEqual([]);
  // Made from its prefix, from the names of tools, or read by scripts of tasks only.
  const indirect = new Set([
    "OUTPOST_SECRET_NAME",
    "OUTPOST_HELM",
    "OUTPOST_KUSTOMIZE",
    "OUTPOST_JSONNET",
    "DATABASE_URL",
    "REDIS_URL",
  ]);
  expect([...described].filter((name) => !read.has(name) && !indirect.has(name)).sort()).toEqual([]);
});

test("SETTINGS.md is what the table says", () => {
  expect(readFileSync(join(root, "SETTINGS.md"), "utf8")).toBe(settingsPage(table));
});
