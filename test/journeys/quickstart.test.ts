import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { within } from "../within.ts";
import { type World, world } from "../world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
});

const quickstart = (...args: string[]): Promise<{ exit: number; out: string; ms: number }> => {
  const started = Date.now();
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [join(w.root, "test/quickstart.mjs"), ...args],
      { cwd: w.root, env: process.env, timeout: 600_000, maxBuffer: 64 << 20 },
      (error, out, err) =>
        resolve({
          exit: error ? (child.exitCode ?? 1) : 0,
          out: stripVTControlCharacters(out + err),
          ms: Date.now() - started,
        }),
    );
  });
};

test("the first command ends with the application Synced and Healthy, its pods, the address and how to sign in", () => {
  const said = readFileSync(join(w.root, ".test", process.env.OUTPOST_QUICKSTART!, "up.log"), "utf8");
  expect(said).toMatch(/guestbook\s.*Synced\s+Healthy/);
  expect(said).toMatch(/guestbook-\S+\s+Running\s+true/);
  expect(said).toContain(w.address);
  expect(said).toContain("admin-key");
});

test("a second run is quick, says what it reused, and changes nothing", async () => {
  const { exit, out, ms } = await quickstart();
  expect([exit, out]).toEqual([
    0,
    expect.stringMatching(
      /Start the local cluster .* reused[\s\S]*Git server .*reused[\s\S]*Start the service .*reused[\s\S]*0 added, 0 changed, 0 destroyed/,
    ),
  ]);
  expect(ms).toBeLessThan(within(30_000));
});

test("--status tells what runs", async () => {
  const { exit, out } = await quickstart("--status");
  expect([exit, out]).toEqual([0, expect.stringMatching(/● local cluster[\s\S]*● service[\s\S]*● Git server/)]);
});

test("a port that is taken is told before anything is changed", async () => {
  const port = new URL(w.address).port;
  const env = { ...process.env, OUTPOST_QUICKSTART: ".journeys-elsewhere" };
  const said = await new Promise<string>((resolve) =>
    execFile(process.execPath, [join(w.root, "test/quickstart.mjs"), "--port", port], { env }, (_, out, err) =>
      resolve(out + err),
    ),
  );
  expect(said).toContain(`port ${port} of 127.0.0.1; another program has it`);
  expect(said).toContain(`--port ${Number(port) + 1}`);
  expect(existsSync(join(w.root, ".journeys-elsewhere"))).toBe(false);
});

test("a second plan is empty", async () => {
  const ran = await w.terraform(w.stack, "plan", "-detailed-exitcode");
  expect([ran.code, ran.output]).toEqual([0, expect.stringContaining("No changes")]);
});

test("the page is served from the pod, and the service is reached there by the address that the browser uses", async () => {
  const port = await w.cluster.forwardService("guestbook", "guestbook", 80);
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toContain("Guestbook");
  const pod = (await w.cluster.kubectl("-n", "outpost-agent", "get", "pods", "-o", "name")).split("\n")[0]!;
  const script = `fetch("${w.address}/healthz").then(async (r) => console.log(r.status))`;
  expect(await w.cluster.kubectl("-n", "outpost-agent", "exec", pod, "--", "node", "-e", script)).toContain("200");
});

test("what others know stays true: the application is an argoproj.io object that kubectl shows", async () => {
  const out = await w.cluster.kubectl("get", "applications.argoproj.io", "--all-namespaces");
  expect(out).toMatch(/guestbook\s+Synced\s+Healthy/);
});
