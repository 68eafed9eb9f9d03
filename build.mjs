import { chmod, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
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
  banner: { js: `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);` },
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
});
await chmod(at("dist/outpost.mjs"), 0o755);
// Chunks are named by their content: those of earlier builds go, those that running programs may still load stay the same.
for (const file of await readdir(at("dist/chunks"))) if (!result.metafile.outputs[`dist/chunks/${file}`]) await rm(at("dist/chunks", file));

const { buildProvider } = await import("./provider/build.mjs");
await buildProvider({ version });
const bytes = Object.values(result.metafile.outputs).reduce((sum, o) => sum + o.bytes, 0);
console.log(`outpost ${version}: ${(bytes / 1048576).toFixed(1)} MB in dist/, ${((Date.now() - started) / 1000).toFixed(1)} s`);
