import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import document from "../../../openapi/contract/openapi.json" with { type: "json" };
import { within } from "../../../test/within.ts";
import { outpost } from "../command.ts";
import { type Answer, person, type Seen } from "../testing.ts";
import { COMMON, KINDS } from "./kinds.ts";

const made = {
  id: "t-1",
  kind: "shell.run",
  params: {},
  state: "Queued",
  createdAt: "2026-01-01T00:00:00Z",
  attempts: [],
};
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "outpost-cli-"));
});
afterEach(() => rm(dir, { recursive: true }));

/** What one command line asks the service to queue. */
async function asked(...argv: string[]) {
  const me = person(() => ({ body: made }));
  const { exit, err } = await me.types("task", "run", ...argv);
  return exit === 0 ? me.requests[0]!.body : { exit, err };
}

test.each<[string, string[], object]>([
  [
    "flags of the kind",
    ["shell.run", "--script", "true", "--env", "A=1", "--env", "B=2"],
    { kind: "shell.run", params: { script: "true", env: { A: "1", B: "2" } } },
  ],
  [
    "what every task has",
    ["shell.run", "--script", "true", "--selectors", "linux,gpu", "--retry-on", "Failed", "--name", "x"],
    { kind: "shell.run", params: { script: "true" }, selectors: ["linux", "gpu"], retryOn: ["Failed"], name: "x" },
  ],
  [
    "a parameter whose word is taken",
    ["kubernetes.rollout", "--kind", "Deployment", "--rollout-name", "web", "--action", "restart"],
    { kind: "kubernetes.rollout", params: { kind: "Deployment", name: "web", action: "restart" } },
  ],
  [
    "a list of objects as JSON",
    ["shell.run", "--script", "x", "--param", 'keep=[{"name":"a","path":"b"}]'],
    { kind: "shell.run", params: { script: "x", keep: [{ name: "a", path: "b" }] } },
  ],
  [
    "a text that looks like a number stays one",
    ["helm.upgrade", "--param", "release=web", "--param", "chart.oci=oci://r/web", "--param", "chart.version=1.10"],
    { kind: "helm.upgrade", params: { release: "web", chart: { oci: "oci://r/web", version: "1.10" } } },
  ],
  [
    "a number is one",
    ["terraform.plan", "--git-url", "https://h/x", "--param", "parallelism=4", "--param", "policy.maxDelete=0"],
    {
      kind: "terraform.plan",
      params: { source: { git: { url: "https://h/x" } }, parallelism: 4, policy: { maxDelete: 0 } },
    },
  ],
  [
    "a secret by its name",
    ["git.clone", "--url", "https://h/x", "--password", "${secret:env/GIT}"],
    { kind: "git.clone", params: { url: "https://h/x", password: "${secret:env/GIT}" } },
  ],
])("%s", async (_, argv, want) => {
  expect(await asked(...argv)).toEqual(want);
});

test("parameters come from a file, flags on top", async () => {
  const file = join(dir, "p.yaml");
  await writeFile(file, "release: web\nchart: { repository: https://h/charts, name: web }\n");
  expect(await asked("helm.upgrade", "--params-file", file, "--chart-version", "1.2.0")).toEqual({
    kind: "helm.upgrade",
    params: { release: "web", chart: { repository: "https://h/charts", name: "web", version: "1.2.0" } },
  });
});

test("long texts come from files", async () => {
  const file = join(dir, "app.yaml");
  await writeFile(file, "kind: List\n");
  expect(await asked("kubernetes.apply", "--manifests-file", file)).toEqual({
    kind: "kubernetes.apply",
    params: { manifests: "kind: List\n" },
  });
});

test.each<[string[], RegExp]>([
  [["shell.rn", "--script", "x"], /unknown command 'shell.rn'[\s\S]*shell\.run/],
  [["shell.run"], /--script or --script-file is missing/],
  [
    ["shell.run", "--script", "x", "--param", "scrpt=y"],
    /no parameter "scrpt"; did you mean script \(outpost task kinds shell.run\)/,
  ],
  [["shell.run", "--script", "x", "--param", "y"], /--param takes path=value/],
  [
    ["git.clone", "--url", "https://h/x", "--password", "hunter22"],
    /password is a secret, and the service keeps what it is given/,
  ],
  [["registry.login", "--param", 'login={"registry":"r","password":"hunter22"}'], /login.password is a secret/],
  [["shell.run", "--params-file", "/nonexistent"], /ENOENT/],
])("%j is refused", async (argv, want) => {
  const got = (await asked(...argv)) as { exit: number; err: string };
  expect([got.exit, got.err]).toEqual([2, expect.stringMatching(want)]);
});

test("every kind of the contract can be queued, and no flag means two things", () => {
  expect(KINDS.map((k) => k.name)).toEqual(document.components.schemas.TaskKind.enum);
  for (const kind of KINDS) {
    const names = [...kind.flags, ...COMMON].map((f) => f.name);
    expect([kind.name, names.filter((n, i) => names.indexOf(n) !== i)]).toEqual([kind.name, []]);
    for (const taken of ["org", "project", "context", "endpoint", "output", "follow", "param", "params-file"])
      expect(names).not.toContain(taken);
    // What is required can be said, as a flag or at least as JSON.
    expect(kind.required.filter((name) => !Object.hasOwn(kind.properties, name))).toEqual([]);
    expect(kind.description).not.toBe("");
  }
});

test("the command table is quick to build, with all its flags", () => {
  const io = { env: {}, out: { write() {}, isTTY: false }, err: { write() {}, isTTY: false } } as never;
  outpost(io);
  const began = performance.now();
  outpost(io);
  expect(performance.now() - began).toBeLessThan(within(100));
});

test("kinds are listed with what they do, and one with its parameters", async () => {
  const me = person(() => ({}));
  const all = await me.types("task", "kinds");
  for (const kind of KINDS) expect(all.out).toContain(kind.name);
  const one = await me.types("task", "kinds", "git.clone");
  expect(one.out).toMatch(/url\s+--url\s+required/);
  expect(one.out).toMatch(/password\s+--password\s+as \$\{secret:SOURCE\/PATH#KEY\}/);
  expect((await me.types("task", "kinds", "nothing")).exit).toBe(2);
});

test("lists are filtered by the service", async () => {
  const me = person(() => ({ body: { items: [] } }));
  await me.types("task", "list", "--state", "Failed", "--kind", "git.clone");
  expect(Object.fromEntries(me.requests[0]!.url.searchParams)).toEqual({
    limit: "50",
    state: "Failed",
    kind: "git.clone",
  });
});

test("a file of a task arrives whole or not at all", async () => {
  const at = join(dir, "report.txt");
  const good = person(() => ({ type: "application/octet-stream", body: "bytes" }));
  expect((await good.types("task", "artifact", "get", "t-1", "report.txt", "--to", at)).exit).toBe(0);
  expect(await readFile(at, "utf8")).toBe("bytes");
  const gone = person(() => ({
    status: 404,
    body: { type: "about:blank", title: "x", status: 404, code: "not_found", detail: "gone" },
  }));
  expect((await gone.types("task", "artifact", "get", "t-1", "report.txt", "--to", at)).exit).toBe(3);
  expect([await readFile(at, "utf8"), await readdir(dir)]).toEqual(["bytes", ["report.txt"]]);
});

test("a task that no delegate can take says why, in a list and soon after it is followed", async () => {
  const explanation = [{ worker: "builders", reason: "lacks the tag `mars`" }];
  const why = { ...made, explanation, message: "builders lacks the tag `mars`" };
  let asks = 0;
  const me = person(({ operation, url }) => {
    if (operation === "listTasks") return { body: { items: [made, { ...made, id: "t-2", state: "Succeeded" }] } };
    if (operation === "getTask") return { body: asks < 2 ? why : { ...made, state: "Cancelled" } };
    if (operation !== "getTaskLogs") return { body: made };
    asks++;
    expect(url.searchParams.get("wait")).toBe(asks === 1 ? "3" : "15");
    return { body: { items: [], complete: asks === 2 } };
  });
  expect((await me.types("task", "list")).out).toMatch(/t-1 .*builders lacks the tag `mars`/);
  expect(me.requests.filter(({ operation }) => operation === "getTask")).toHaveLength(1);
  expect((await me.types("task", "run", "shell.run", "--script", "true", "-f")).err).toContain(
    "queued: builders lacks the tag `mars`",
  );
});

test("watching tells each state once, also across a connection that was cut", async () => {
  const event = (state: string) => `event: put\ndata: ${JSON.stringify({ ...made, state })}\n\n`;
  const stop = new AbortController();
  let asks = 0;
  const service = (_: Seen): Answer => {
    if (++asks === 2) setTimeout(() => stop.abort(), 0);
    return {
      type: "text/event-stream",
      body: asks === 1 ? event("Queued") + event("Running") : event("Running") + event("Succeeded"),
    };
  };
  const { out } = await person(service, { signal: stop.signal }).types("task", "watch", "-o", "name");
  expect(out).toBe("t-1 Queued\nt-1 Running\nt-1 Succeeded\n");
});
