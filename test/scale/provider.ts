/**
 * `terraform plan` with our provider against `terraform_data` and against a Go provider on terraform-plugin-framework with the
 * same schema, built here from the module proxy. Each figure is a median over interleaved rounds; the ratios are within one run.
 *
 *   node --import tsx test/scale/provider.ts [rounds]
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "../../server/control/main.ts";
import { readSettings } from "../../server/control/settings.ts";
import { cacheRoot, once } from "../cluster/cache.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const rounds = Number(process.argv[2] ?? 7);
const many = 200;
const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;

const folder = mkdtempSync(join(tmpdir(), "scale-provider-"));
const service = await startServer(
  readSettings({ OUTPOST_LISTEN: "127.0.0.1:0", OUTPOST_DATA: join(folder, "data"), OUTPOST_LOG_LEVEL: "silent" }),
);
const key = readFileSync(join(folder, "data/admin-key"), "utf8").trim();

try {
  await main();
} finally {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  await run("node", ["build.mjs"], { cwd: root });
  const mirror = join(folder, "mirror");
  cpSync(join(root, "dist/mirror"), mirror, { recursive: true });
  const peer = join(
    mirror,
    `registry.terraform.io/outpost/peer/${version}/linux_amd64/terraform-provider-peer_v${version}`,
  );
  mkdirSync(join(peer, ".."), { recursive: true });
  copyFileSync(await buildPeer(), peer);
  writeFileSync(
    join(folder, "terraform.rc"),
    `disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path    = "${mirror}"\n    include = ["registry.terraform.io/outpost/*"]\n  }\n}\n`,
  );

  await put("agents/bench", {});
  for (let i = 0; i < many; i++)
    await put(`repositories/r${i}`, { agent: "bench", url: `https://git.example/r${i}.git` });

  const cases: Record<string, Record<string, string>> = {};
  for (const count of [1, many]) {
    for (const state of [false, true]) {
      const name = `${state ? "no-op with state" : "create"}, ${count}`;
      cases[name] = {};
      for (const side of ["terraform_data", "go", "outpost"]) cases[name]![side] = await workspace(side, count, state);
    }
  }
  console.log(`terraform plan, ms, median of ${rounds} interleaved rounds (min)\n`);
  console.log(
    `${"".padEnd(24)}${["terraform_data", "go", "outpost", "÷ data", "÷ go"].map((c) => c.padStart(16)).join("")}`,
  );
  for (const [name, sides] of Object.entries(cases)) {
    const times: Record<string, number[]> = {};
    for (let round = 0; round <= rounds; round++) {
      for (const [side, dir] of Object.entries(sides)) {
        const started = performance.now();
        await terraform(dir, ["plan", "-detailed-exitcode", "-input=false"], name.startsWith("create") ? 2 : 0);
        // The first round warms the page cache and is not counted.
        if (round > 0) times[side] = [...(times[side] ?? []), performance.now() - started];
      }
    }
    const median = (side: string) => times[side]!.sort((a, b) => a - b)[Math.floor(rounds / 2)]!;
    const shown = Object.keys(sides).map((side) => `${median(side).toFixed(0)} (${times[side]![0]!.toFixed(0)})`);
    const ratio = (side: string) => (median("outpost") / median(side)).toFixed(2);
    console.log(
      `${name.padEnd(24)}${[...shown, ratio("terraform_data"), ratio("go")].map((c) => c.padStart(16)).join("")}`,
    );
  }
}

/** A folder with a configuration, initialised, and with a settled state when asked for. */
async function workspace(side: string, count: number, state: boolean): Promise<string> {
  const dir = join(folder, `${side}-${count}-${state}`);
  mkdirSync(dir);
  const source = side === "go" ? "peer" : "outpost";
  const resource = (i: number) =>
    side === "terraform_data"
      ? `resource "terraform_data" "r${i}" { input = { id = "r${i}", agent = "bench", url = "https://git.example/r${i}.git" } }\n`
      : `resource "${source}_repository" "r${i}" {\n  id    = "r${i}"\n  agent = "bench"\n  url   = "https://git.example/r${i}.git"\n}\n`;
  const head =
    side === "terraform_data"
      ? ""
      : `terraform {\n  required_providers {\n    ${source} = { source = "outpost/${source}" }\n  }\n}\nprovider "${source}" {\n  endpoint = "${service.url}"\n  api_key  = "${key}"\n}\n`;
  writeFileSync(join(dir, "main.tf"), head + Array.from({ length: count }, (_, i) => resource(i)).join(""));
  await terraform(dir, ["init", "-input=false"]);
  if (!state) return dir;
  if (side === "terraform_data") {
    await terraform(dir, ["apply", "-auto-approve", "-input=false"]);
    return dir;
  }
  const resources = Array.from({ length: count }, (_, i) => ({
    mode: "managed",
    type: `${source}_repository`,
    name: `r${i}`,
    provider: `provider["registry.terraform.io/outpost/${source}"]`,
    instances: [
      {
        schema_version: 0,
        attributes: {
          id: `r${i}`,
          agent: "bench",
          url: `https://git.example/r${i}.git`,
          type: "git",
          insecure: false,
          adopt: false,
        },
      },
    ],
  }));
  writeFileSync(
    join(dir, "terraform.tfstate"),
    JSON.stringify({ version: 4, terraform_version: "1.11.4", serial: 1, lineage: "scale", outputs: {}, resources }),
  );
  await terraform(dir, ["apply", "-refresh-only", "-auto-approve", "-input=false"]);
  return dir;
}

async function terraform(dir: string, args: string[], want = 0): Promise<void> {
  const env = { ...process.env, TF_CLI_CONFIG_FILE: join(folder, "terraform.rc"), CHECKPOINT_DISABLE: "1" };
  const code = await run("terraform", [args[0]!, "-no-color", ...args.slice(1)], {
    cwd: dir,
    env,
    maxBuffer: 1 << 26,
  }).then(
    () => 0,
    (error) =>
      error.code === want
        ? want
        : Promise.reject(new Error(`terraform ${args.join(" ")}: ${error.code}\n${error.stdout}\n${error.stderr}`)),
  );
  if (code !== want) throw new Error(`terraform ${args.join(" ")} ended with ${code}, not ${want}`);
}

async function put(path: string, spec: unknown): Promise<void> {
  const answer = await fetch(`${service.url}/v1/${path}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ spec }),
  });
  if (!answer.ok) throw new Error(`PUT ${path}: ${answer.status} ${await answer.text()}`);
}

/** The Go side, built once for each schema. */
async function buildPeer(): Promise<string> {
  const source = join(root, "test/scale/go-provider");
  const schema = JSON.parse(readFileSync(join(root, "provider/generated/schema.json"), "utf8"));
  const sides = Object.values<{ resource_schemas: Record<string, { block: unknown }> }>(schema.provider_schemas);
  const block = JSON.stringify(sides[0]!.resource_schemas.outpost_repository!.block);
  const files = ["go.mod", "go.sum", "main.go", "resource.go", "schema.go"].map((f) => readFileSync(join(source, f)));
  const hash = createHash("sha256");
  for (const part of [...files, block]) hash.update(part);
  const dir = join(cacheRoot(), "tools", `peer-provider-${hash.digest("hex").slice(0, 12)}`);
  await once(dir, async () => {
    const work = mkdtempSync(join(tmpdir(), "peer-"));
    cpSync(source, work, { recursive: true });
    writeFileSync(join(work, "schema.json"), block);
    await run("go", ["build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o", join(dir, "peer"), "."], {
      cwd: work,
      env: { ...process.env, CGO_ENABLED: "0" },
    });
    rmSync(work, { recursive: true, force: true });
  });
  return join(dir, "peer");
}
