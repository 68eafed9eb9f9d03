/**
 * No container engine runs here: docker's own command line reads every line that the script gives it, and a stand-in then runs what the
 * image would as a process, with the variables, the mounts and the arguments of the line.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../servers/run.ts";
import { type InstallWorld, installWorld } from "./world.ts";

// The stand-in becomes the line's user, which only root can.
const test = process.getuid?.() === 0 ? globalThis.test : globalThis.test.skip;
let w: InstallWorld;
let env: NodeJS.ProcessEnv;
const engine = new URL("engine.mjs", import.meta.url).pathname;
const home = () => env.OUTPOST_ENGINE!;
const calls = (): string[][] =>
  readFileSync(join(home(), "calls"), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as string[]);

beforeAll(async () => {
  w = await installWorld();
  const folder = join(w.dir, "engine");
  for (const name of ["", "pids", "volumes", "files", "bin"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "program"), new URL("../../dist/outpost.mjs", import.meta.url).pathname);
  writeFileSync(join(folder, "bin/engine"), `#!/bin/sh\nexec ${process.execPath} ${engine} "$@"\n`);
  chmodSync(join(folder, "bin/engine"), 0o755);
  env = { PATH: process.env.PATH, HOME: w.dir, OUTPOST_ENGINE: folder, ENGINE: join(folder, "bin/engine") };
}, 60_000);
afterAll(async () => {
  for (const name of existsSync(join(home(), "pids")) ? readdirSync(join(home(), "pids")) : [])
    await run(env.ENGINE!, ["rm", "--force", name], { env }).catch(() => undefined);
  await w?.stop();
});

const CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";

test("the script's container connects and runs a task with its tools, and the token is in no argument", async () => {
  const initScript =
    'mkdir -p "$TOOLS/bin"; printf "#!/bin/sh\\necho a tool\\n" > "$TOOLS/bin/greet"; chmod +x "$TOOLS/bin/greet"';
  const script = await w.installer("dock", "docker", { initScript });
  const [, token] = /token='(ot1_[^']+)'/.exec(readFileSync(script, "utf8"))!;
  await run("sh", [script], { env });
  expect(await w.shell("dock", "greet; id -u; grep NoNewPrivs /proc/self/status")).toBe(
    "a tool\n1000\nNoNewPrivs:\t1\n",
  );
  expect(JSON.stringify(calls())).not.toContain(token);
  expect(statSync(join(w.dir, ".config/outpost-delegate-dock/delegate.env")).mode & 0o777).toBe(0o600);
  // Again is an upgrade: the old one is stopped first, and its volume keeps who it is.
  const identity = join(home(), "volumes/outpost-delegate-dock/identity.json");
  const before = readFileSync(identity, "utf8");
  await run("sh", [script], { env });
  expect(await w.shell("dock", "echo again")).toBe("again\n");
  expect(readFileSync(identity, "utf8")).toBe(before);
  const verbs = calls().map(([verb]) => verb);
  expect(verbs.slice(-5)).toEqual(["run", "run", "stop", "rm", "run"]);
}, 60_000);

test("every line is least-privileged, and docker's own command line takes it", async () => {
  const script = await w.installer("many", "docker", {
    replicas: 2,
    caCertificate: CA,
    httpsProxy: "http://p:1",
    withToken: false,
    image: "r.example:5000/o:9",
  });
  await expect(run("sh", [script], { env })).rejects.toThrow(/DELEGATE_TOKEN.*is the enrolment token of the delegate/);
  const from = calls().length;
  await run("sh", [script], { env: { ...env, DELEGATE_TOKEN: "ot1_x_y_z" } });
  const lines = calls().slice(from);
  const detached = lines.filter((line) => line.includes("--detach"));
  expect(detached.map((line) => line[line.indexOf("--name") + 1])).toEqual([
    "outpost-delegate-many-1",
    "outpost-delegate-many-2",
  ]);
  for (const line of detached) {
    expect(line).toEqual(
      expect.arrayContaining([
        "--init",
        "--read-only",
        "unless-stopped",
        "no-new-privileges",
        "1000:1000",
        "r.example:5000/o:9",
      ]),
    );
    expect(line.join(" ")).toMatch(
      /--cap-drop ALL .*source=.*ca\.crt,target=\/etc\/outpost\/ca\.crt,readonly.* delegate$/,
    );
    expect(line.join(" ")).not.toMatch(/--publish|--privileged|--network host/);
  }
  const variables = readFileSync(join(w.dir, ".config/outpost-delegate-many/delegate.env"), "utf8");
  expect(variables).toMatch(
    /^HTTPS_PROXY=http:\/\/p:1$[\s\S]*^OUTPOST_CA_FILE=\/etc\/outpost\/ca\.crt$[\s\S]*^DELEGATE_TOKEN=ot1_x_y_z$/m,
  );
  if (existsSync("/usr/local/bin/docker") || existsSync("/usr/bin/docker"))
    for (const line of lines)
      await expect(run("docker", line, { env: { ...env, DOCKER_HOST: `unix://${w.dir}/none.sock` } })).rejects.toThrow(
        /onnect to the Docker daemon/,
      );
}, 60_000);
