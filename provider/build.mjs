/** Builds the provider's package: a launcher, some minified scripts, and nothing else to install. Node 20.19 or newer runs it. */
import { chmod, cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const room = dirname(fileURLToPath(import.meta.url));
const dist = join(room, "../dist");
export const address = "registry.terraform.io/outpost/outpost";
/** The package is the same for all of them: it holds no machine code. */
export const platforms = ["linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"];
const oldest = "20.19.0";

/**
 * Terraform starts the file by its own name, so the launcher is a shell script: it drops NODE_OPTIONS, which would load the user's code
 * into a process that holds credentials, and says in one line what is missing. Terraform shows the first line of stdout.
 */
const launcher = `#!/bin/sh
unset NODE_OPTIONS NODE_PATH
command -v node >/dev/null 2>&1 || { echo "The outpost provider needs Node.js ${oldest} or newer; there is no node on PATH."; exit 1; }
exec node "\${0%/*}/main.cjs"
`;

/** In a file of its own and in old words, so that an old Node can read it. */
const main = `"use strict";
var have = process.versions.node.split(".").map(Number), want = [${oldest.split(".").join(", ")}];
if (have[0] < want[0] || (have[0] === want[0] && have[1] < want[1])) {
  console.log("The outpost provider needs Node.js ${oldest} or newer; node on PATH is " + process.versions.node + ".");
  process.exit(1);
}
require("./provider.cjs");
`;

/**
 * Scripts that are read only when something asks for them: reading them all cost each start 8 of 45 ms, and Terraform starts the provider several
 * times for one plan. The YAML parser is as large as half of the provider, and most configurations have no YAML.
 */
const APART = {
  "openapi/rules/yaml-texts.ts": "yaml-texts.cjs",
  "openapi/rules/forms.ts": "forms.cjs",
};
/** The ES modules of the YAML library, from which unused parts (17 KB, mostly its writer) can be left out. Its Node build is CommonJS. */
const yaml = join(room, "../node_modules/yaml/browser/index.js");
/** A table of 9 KB that two scripts need. */
const SHARED = { "openapi/contract/patterns.ts": "patterns.cjs" };
/** The files of the package that Node reads. */
export const scripts = ["provider.cjs", ...Object.values(APART), ...Object.values(SHARED)];

const apart = {
  name: "apart",
  setup({ onResolve }) {
    onResolve({ filter: /\.ts$/ }, ({ kind, path }) => {
      if (kind !== "dynamic-import") return undefined;
      const [, script] = Object.entries(APART).find(([file]) => path.endsWith(`/${file}`)) ?? [];
      return script ? { path: `./${script}`, external: true } : undefined;
    });
  },
};

const shared = {
  name: "shared",
  setup({ onResolve }) {
    for (const [file, script] of Object.entries(SHARED))
      onResolve({ filter: new RegExp(`/${file.split("/").slice(-2).join("/")}$`) }, () => ({
        path: `./${script}`,
        external: true,
      }));
  },
};

/** Writes the package into \`out\` and a filesystem mirror with it into \`mirror\`. Gives the sizes in bytes. */
export async function buildProvider({
  version,
  out = join(dist, "terraform-provider-outpost"),
  mirror = join(dist, "mirror"),
}) {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const common = {
    absWorkingDir: join(room, ".."),
    bundle: true,
    minify: true,
    format: "cjs",
    platform: "node",
    target: "node20.19",
    define: { OUTPOST_VERSION: JSON.stringify(version) },
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
  };
  const built = await Promise.all([
    build({
      ...common,
      entryPoints: ["provider/main.ts"],
      outfile: join(out, "provider.cjs"),
      plugins: [apart, shared],
    }),
    ...Object.entries(APART).map(([file, script]) =>
      build({ ...common, entryPoints: [file], outfile: join(out, script), alias: { yaml }, plugins: [shared] }),
    ),
    ...Object.entries(SHARED).map(([file, script]) =>
      build({ ...common, entryPoints: [file], outfile: join(out, script) }),
    ),
  ]);
  const program = join(out, `terraform-provider-outpost_v${version}`);
  await writeFile(program, launcher);
  await chmod(program, 0o755);
  await writeFile(join(out, "main.cjs"), main);
  // Else a package.json above it could make Node read the scripts as ES modules.
  await writeFile(join(out, "package.json"), '{"type":"commonjs"}\n');
  await layMirror({ from: out, to: mirror, version });
  const outputs = built.flatMap(({ metafile }) => Object.values(metafile.outputs));
  return { bytes: outputs.reduce((sum, o) => sum + o.bytes, 0), program };
}

/** Lays a built package out as `terraform init` finds it in a filesystem mirror (the unpacked layout). */
export async function layMirror({ from, to, version }) {
  await rm(join(to, address), { recursive: true, force: true });
  for (const platform of platforms) await cp(from, join(to, address, version, platform), { recursive: true });
}
