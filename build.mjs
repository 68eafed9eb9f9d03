import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const at = (...parts) => join(root, ...parts);
const { version } = JSON.parse(await readFile(at("package.json"), "utf8"));
const started = Date.now();

await mkdir(at("dist"), { recursive: true });
const result = await build({
  absWorkingDir: root,
  // One entry for each process that is started by its own file; code they share goes into chunks.
  entryPoints: [
    { in: "server/cli/main.ts", out: "outpost" },
    { in: "server/link/heartbeat-thread.ts", out: "chunks/heartbeat" },
  ],
  outdir: "dist",
  outExtension: { ".js": ".mjs" },
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  external: ["@electric-sql/pglite", "pg-native"],
  define: { OUTPOST_VERSION: JSON.stringify(version) },
  // Packages written for CommonJS ask for Node's own modules with require.
  banner: {
    js: `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`,
  },
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
});
await chmod(at("dist/outpost.mjs"), 0o755);
// The machine for users' scripts and its thread; its glue is CommonJS and asks where it is.
const lua = await build({
  absWorkingDir: root,
  entryPoints: ["server/kube/lua/thread.ts"],
  outfile: "dist/chunks/lua-thread.cjs",
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20.19",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
});
const machine = "dist/chunks/lua.wasm";
await copyFile(at("node_modules/wasmoon/dist/glue.wasm"), at(machine));
const made = new Set([...Object.keys(result.metafile.outputs), ...Object.keys(lua.metafile.outputs), machine]);
// Chunks are named by their content: those of earlier builds go, those that running programs may still load stay the same.
for (const file of await readdir(at("dist/chunks")))
  if (!made.has(`dist/chunks/${file}`)) await rm(at("dist/chunks", file));

const { buildProvider } = await import("./provider/build.mjs");
await buildProvider({ version });
await storeTemplate();
await linkTools();
const bytes = Object.values(result.metafile.outputs).reduce((sum, o) => sum + o.bytes, 0);
console.log(
  `outpost ${version}: ${(bytes / 1048576).toFixed(1)} MB in dist/, ${((Date.now() - started) / 1000).toFixed(1)} s`,
);

/** An empty store with all migrations, made again only when they change: the service's first start takes from it a second instead of several. */
async function storeTemplate() {
  const folder = at("server/control/store");
  const hash = createHash("sha256").update(await readFile(at("package-lock.json")));
  for (const file of (await readdir(join(folder, "migrations"))).sort())
    hash.update(await readFile(join(folder, "migrations", file)));
  const digest = hash.digest("hex");
  if (
    (await readFile(at("dist/store-template.digest"), "utf8").catch(() => "")) === digest &&
    existsSync(at("dist/store-template.tgz"))
  )
    return;
  const args = ["--import", "tsx", join(folder, "template.ts"), at("dist/store-template.tgz")];
  await promisify(execFile)(process.execPath, args, { cwd: root });
  await writeFile(at("dist/store-template.digest"), digest);
}

/** What renders, as far as `test/cluster` has built it here: `outpost admin` finds it beside the bundle where the machine has none of its own. */
async function linkTools() {
  await rm(at("dist/tools"), { recursive: true, force: true });
  await mkdir(at("dist/tools"));
  const cache = process.env.OUTPOST_CACHE ?? join(homedir(), ".cache/outpost");
  for (const [tool, files] of Object.entries({
    helm: ["helm"],
    kustomize: ["kustomize", "v5"],
    jsonnet: ["jsonnet"],
  })) {
    const hash = createHash("sha256");
    for (const file of ["go.mod", "go.sum"]) hash.update(await readFile(at("test/cluster/tools", tool, file)));
    const folder = join(cache, "tools", `${tool}-${hash.digest("hex").slice(0, 12)}`);
    const built = files.map((file) => join(folder, file)).find((path) => existsSync(path));
    if (built) await symlink(built, at("dist/tools", tool));
  }
}
