import { execFile } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { writeTerraformConfig } from "../cluster/terraform.ts";
import { type Daemon, until } from "../servers/run.ts";
import { type DelegateWorld, delegateWorld } from "./delegate-world.ts";
import { ok, program } from "./link-world.ts";

/** The example as it stands, with real Terraform, a real delegate and the command line, in the order of its README. */
const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
let w: DelegateWorld;
let delegate: Daemon | undefined;
let env: NodeJS.ProcessEnv;
let folder: string;

beforeAll(async () => {
  w = await delegateWorld();
  folder = join(w.dir, "example");
  cpSync(join(root, "examples/03-pipeline"), folder, { recursive: true });
  const mirror = join(root, "dist/mirror");
  const key = ok(await w.service.api.POST("/v1/apikeys", { body: { id: "terraform", role: "admin" } })).key!;
  env = {
    PATH: process.env.PATH,
    HOME: w.dir,
    ...(await writeTerraformConfig(join(w.dir, "terraform.rc"), { mirror, own: mirror })),
    OUTPOST_ENDPOINT: w.service.url,
    OUTPOST_API_KEY: key,
    OUTPOST_CONFIG: "/nonexistent/config.json",
  };
}, 90_000);
afterAll(async () => {
  await delegate?.stop("SIGKILL");
  await w?.stop();
}, 30_000);

const terraform = (...args: string[]) =>
  run("terraform", [...args, "-no-color"], { cwd: folder, env, timeout: 120_000 });
const outpost = (...args: string[]) =>
  run(process.execPath, [join(root, "dist/outpost.mjs"), ...args], { cwd: folder, env, timeout: 120_000 });

test("terraform apply declares the pipeline, a run of it asks and publishes what was built, destroy leaves nothing", async () => {
  await terraform("init", "-input=false");
  await terraform("fmt", "-check");
  await terraform("apply", "-auto-approve", "-input=false");
  expect((await terraform("plan", "-detailed-exitcode")).stdout).toContain("No changes");
  const token = (await outpost("delegate", "token", "builders")).stdout.trim();
  delegate = program(["delegate"], {
    OUTPOST_ENDPOINT: w.service.url,
    DELEGATE_TOKEN: token,
    OUTPOST_WORK_DIR: join(w.dir, "builders"),
    OUTPOST_LISTEN: "127.0.0.1:0",
    OUTPOST_SANDBOX: "off",
  });

  const followed = outpost("pipeline", "run", "release", "--input", "version=1.2.0", "--wait");
  const runs = () => w.service.api.GET("/v1/runs", { params: { query: { pipeline: "release" } } });
  const waiting = await until(
    "the run to ask",
    async () => ok(await runs()).items.find((one) => one.state === "Waiting"),
    60_000,
  );
  expect(waiting.steps.find((step) => step.id === "approve")?.message).toMatch(/^Publish 1\.2\.0 \([0-9]+ bytes\)\?$/);
  await outpost("run", "approve", waiting.id, "approve", "--comment", "go");
  expect((await followed).stderr).toContain(`run ${waiting.id} succeeded`);
  const ended = ok(await runs()).items[0]!;
  expect(ended.steps.map((step) => `${step.id}:${step.state}`)).toEqual(
    ["build", "links", "size", "approve", "publish", "tell"].map((id) => `${id}:Succeeded`),
  );
  expect(ended.steps[4]!.outputs).toMatchObject({ published: "1.2.0" });
  const build = ended.steps[0]!.task!;
  await outpost("task", "artifact", "get", build, "site.tar.gz");
  expect((await run("tar", ["tzf", join(folder, "site.tar.gz")])).stdout).toContain("index.html");
  expect((await outpost("task", "logs", ended.steps[5]!.task!)).stdout).toContain("release 1.2.0: Succeeded");
  await outpost("pipeline", "run", "release", "--input", "version=1.2.1", "--input", "approve=no", "--wait");
  await expect(outpost("pipeline", "run", "release", "--input", "version=one")).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("must fit"),
  });

  expect((await terraform("plan", "-detailed-exitcode")).stdout).toContain("No changes");
  await terraform("destroy", "-auto-approve");
  expect(ok(await w.service.api.GET("/v1/pipelines", {})).items).toEqual([]);
}, 300_000);
