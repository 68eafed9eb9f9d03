import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { address, buildProvider } from "./build.mjs";
import { createService, type FakeService } from "./testing/service.ts";

jest.setTimeout(120_000);

const version = "1.2.3";
let folder: string;
let program: string;
let bytes: number;
let service: FakeService;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "package-"));
  ({ program, bytes } = await buildProvider({ version, out: join(folder, "package"), mirror: join(folder, "mirror") }));
  writeFileSync(
    join(folder, "terraform.rc"),
    `provider_installation {\n  filesystem_mirror {\n    path    = ${JSON.stringify(join(folder, "mirror"))}\n    include = ["registry.terraform.io/*/*"]\n  }\n}\n`,
  );
  service = await createService();
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}
const run = (file: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> =>
  new Promise((resolve) => {
    const own = {
      TF_CLI_CONFIG_FILE: join(folder, "terraform.rc"),
      CHECKPOINT_DISABLE: "1",
      TMPDIR: join(folder),
      OUTPOST_ENDPOINT: service.endpoint,
      OUTPOST_API_KEY: "key",
    };
    execFile(
      file,
      args,
      { cwd: folder, env: { ...process.env, ...own, ...env }, timeout: 240_000 },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
  });
const terraform = (...args: string[]) => run("terraform", [...args, "-no-color"]);

test("the package is small, and what every start reads is smaller", () => {
  expect(bytes).toBeLessThan(500_000);
  // The parser of YAML is in a file of its own, which runs only where a configuration has YAML texts.
  expect(statSync(join(folder, "package/provider.cjs")).size).toBeLessThan(380_000);
});

test("terraform installs it from a mirror with a lock file, applies with it, and leaves nothing behind", async () => {
  writeFileSync(
    join(folder, "main.tf"),
    `terraform {\n  required_providers {\n    outpost = {\n      source  = "outpost/outpost"\n      version = "~> 1.2"\n    }\n  }\n}\nresource "outpost_agent" "a" {\n  id = "prod"\n}\noutput "r" { value = provider::outpost::reference("account", "x") }\n`,
  );
  expect(await terraform("init")).toMatchObject({ code: 0, stderr: "" });
  const lock = readFileSync(join(folder, ".terraform.lock.hcl"), "utf8");
  expect(lock).toContain(`provider "${address}"`);
  expect(lock).toMatch(/h1:/);
  // An init that must not change the lock file accepts the same package again.
  expect((await terraform("init", "-lockfile=readonly")).code).toBe(0);
  expect(await terraform("apply", "-auto-approve")).toMatchObject({ code: 0, stderr: "" });
  expect((await terraform("plan", "-detailed-exitcode")).code).toBe(0);
  const broken = `resource "outpost_application" "y" {\n  id = "y"\n  agent = "prod"\n  destination = {}\n  source = { repo_url = "https://git.example.com/a.git", path = ".", helm = { values = "a: [" } }\n}\n`;
  writeFileSync(join(folder, "y.tf"), broken);
  const { stderr } = await terraform("validate");
  expect(stderr).toMatch(/Invalid value.*values = "a: \[".*YAML/s);
  rmSync(join(folder, "y.tf"));
  const dropped = `resource "outpost_application" "z" {\n  id = "z"\n  agent = "prod"\n  destination = { namespac = "web" }\n  source = { repo_url = "https://git.example.com/a.git" }\n}\n`;
  writeFileSync(join(folder, "z.tf"), dropped);
  expect((await terraform("validate")).stdout).toMatch(
    /on z.tf line 4.*`destination` has no attribute `namespac` \(z.tf line 4\).*Did\s+you\s+mean\s+`namespace`\?/s,
  );
  rmSync(join(folder, "z.tf"));
  const schema = JSON.parse((await run("terraform", ["providers", "schema", "-json"])).stdout);
  expect(schema).toEqual(JSON.parse(readFileSync(new URL("generated/schema.json", import.meta.url), "utf8")));
  expect((await terraform("destroy", "-auto-approve")).code).toBe(0);
  expect(service.store.size).toBe(0);
  expect(readdirSync(folder).filter((name) => name.startsWith("tf-"))).toEqual([]);
});

test("a changed byte in the package is refused by the lock file", async () => {
  const file = join(folder, "mirror", address, version, "linux_amd64", "provider.cjs");
  const before = readFileSync(file);
  writeFileSync(file, Buffer.concat([before, Buffer.from(" ")]));
  expect((await terraform("plan")).stderr).toContain("does not match any of the checksums");
  writeFileSync(file, before);
});

test("its log is understood by Terraform, level by level", async () => {
  const main = join(folder, "main.tf");
  writeFileSync(main, readFileSync(main, "utf8").replace('id = "prod"', 'id = "prod"\n  timeouts = { create = "5s" }'));
  const { stderr } = await run("terraform", ["apply", "-auto-approve", "-no-color"], {
    TF_LOG_PROVIDER: "WARN",
    OUTPOST_ENDPOINT: "http://127.0.0.1:1",
  });
  expect(stderr).toMatch(/\[WARN\]\s+provider\.terraform-provider-outpost_v1\.2\.3: PUT .*cannot be reached/);
  expect(stderr).not.toContain('"@message"');
});

test("NODE_OPTIONS of the user does not reach it", async () => {
  const evil = join(folder, "evil.cjs");
  writeFileSync(evil, "process.exit(7);");
  const { stderr } = await run("sh", [program], { NODE_OPTIONS: `--require ${evil}` });
  expect(stderr).toContain("This is outpost, a Terraform provider");
});

test("without node, and with an old one, the first line says what is missing", async () => {
  const empty = mkdtempSync(join(folder, "path-"));
  expect((await run("/bin/sh", [program], { PATH: empty })).stdout).toBe(
    "The outpost provider needs Node.js 20.19.0 or newer; there is no node on PATH.\n",
  );
  const old = join(folder, "old.cjs");
  writeFileSync(
    old,
    `Object.defineProperty(process.versions, "node", { value: "18.20.0" });\nrequire(${JSON.stringify(join(folder, "package/main.cjs"))});`,
  );
  expect((await run(process.execPath, [old])).stdout).toBe(
    "The outpost provider needs Node.js 20.19.0 or newer; node on PATH is 18.20.0.\n",
  );
});

test("it ends by itself when nobody is left to answer, and its socket's folder is gone", async () => {
  const { connect } = await import("node:http2");
  const env = {
    ...process.env,
    TF_PLUGIN_MAGIC_COOKIE: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
    PLUGIN_PROTOCOL_VERSIONS: "5,6",
    TMPDIR: folder,
  };
  const child = spawn(program, [], { env, stdio: ["ignore", "pipe", "ignore"] });
  const line = await new Promise<string>((resolve) => child.stdout.once("data", (data) => resolve(String(data))));
  const [core, protocol, network, path, kind] = line.trim().split("|");
  expect([core, protocol, network, kind]).toEqual(["1", "6", "unix", "grpc"]);
  const { createConnection } = await import("node:net");
  const session = connect("http://localhost", { createConnection: () => createConnection(path!) });
  await new Promise<void>((resolve) => session.once("connect", () => resolve()));
  // An interrupt of the terminal reaches the whole group and must not end it.
  child.kill("SIGINT");
  const stream = session.request({ ":method": "POST", ":path": "/tfplugin6.Provider/Nothing" });
  const status = await new Promise((resolve) =>
    stream.on("response", (headers) => resolve(headers["grpc-status"])).resume(),
  );
  expect(status).toBe("12");
  expect(existsSync(path!)).toBe(false);
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  session.destroy();
  expect(await ended).toBe(0);
});

test("it ends when the Terraform that started it is killed before it has connected", async () => {
  const env = {
    ...process.env,
    TF_PLUGIN_MAGIC_COOKIE: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
    PLUGIN_PROTOCOL_VERSIONS: "6",
    TMPDIR: folder,
  };
  const starter = `const child = require("node:child_process").spawn(${JSON.stringify(program)}, [], { stdio: ["ignore", "pipe", "ignore"] });
    child.stdout.once("data", () => console.log(child.pid));
    setInterval(() => {}, 1000);`;
  const terraform = spawn(process.execPath, ["-e", starter], { env, stdio: ["ignore", "pipe", "ignore"] });
  const pid = Number(
    await new Promise<string>((resolve) => terraform.stdout.once("data", (data) => resolve(String(data)))),
  );
  // A zombie that is not reaped yet has ended too.
  const runs = () => existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  expect(runs()).toBe(true);
  terraform.kill("SIGKILL");
  const deadline = Date.now() + 15_000;
  while (runs() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(runs()).toBe(false);
});

test("a second client without Terraform's certificate is refused", async () => {
  const { createCertificate } = await import("./protocol/certificate.ts");
  const { connect } = await import("node:tls");
  const env = {
    ...process.env,
    TF_PLUGIN_MAGIC_COOKIE: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
    PLUGIN_CLIENT_CERT: createCertificate().pem,
    TMPDIR: folder,
  };
  const child = spawn(program, [], { env, stdio: ["ignore", "pipe", "ignore"] });
  const line = await new Promise<string>((resolve) => child.stdout.once("data", (data) => resolve(String(data))));
  const [, , , path, , certificate] = line.trim().split("|");
  expect(certificate!.length).toBeGreaterThan(50);
  expect(certificate).not.toContain("=");
  const other = createCertificate();
  const ca = `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----\n`;
  const key = other.key.export({ type: "pkcs8", format: "pem" }) as string;
  const failed = await new Promise<string>((resolve) => {
    const socket = connect({ path: path!, ca, cert: other.pem, key, servername: "localhost", ALPNProtocols: ["h2"] });
    socket.on("error", (error) => resolve(error.message));
    socket.on("close", () => resolve("closed"));
    socket.resume();
  });
  expect(failed).not.toBe("");
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
  rmSync(join(path!, ".."), { recursive: true, force: true });
});
