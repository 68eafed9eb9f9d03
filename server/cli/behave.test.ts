import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codes } from "../../openapi/contract/codes.ts";
import { generateSealKeys, open } from "../../openapi/seal.ts";
import { colours } from "../base/colour.ts";
import { diffText } from "./app/diff.ts";
import { application } from "./objects/nouns.ts";
import { exitOf } from "./output/failure.ts";
import { type Answer, person, type Seen } from "./testing.ts";

const head = {
  uid: "u",
  generation: 2,
  version: "7",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};
const app = (status: object) => ({ ...head, id: "guestbook", spec: { agent: "prod", destination: {} }, status });
const ready = { observedGeneration: 2, sync: { status: "Synced" }, health: { status: "Healthy" } };
const problem = (code: keyof typeof codes, more = {}): Answer => ({
  status: codes[code].status,
  body: {
    type: "about:blank",
    title: codes[code].title,
    status: codes[code].status,
    code,
    detail: "it went wrong",
    ...more,
  },
});
const event = (object: object, id = 1, name = "put") =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(object)}\n\n`;

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "outpost-cli-"));
});
afterEach(() => rm(dir, { recursive: true }));

test.each([
  ["not_found", 3],
  ["already_exists", 4],
  ["version_mismatch", 4],
  ["agent_not_enrolled", 4],
  ["agent_timeout", 5],
  ["unauthenticated", 6],
  ["forbidden", 6],
  ["invalid_field", 2],
  ["too_many_requests", 7],
  ["unavailable", 7],
] as const)("a problem with code %s exits %d", (code, want) =>
  expect(exitOf({ code, status: codes[code].status })).toBe(want),
);

test("a problem is told with its detail, code, place, version and request", async () => {
  const me = person(() =>
    problem("version_mismatch", {
      pointer: "/spec/agent",
      currentVersion: "8",
      instance: "req-1",
      errors: [{ code: "invalid_field", detail: "another", pointer: "/spec/x" }],
    }),
  );
  const { exit, err, out } = await me.types("app", "apply", "guestbook", "--agent", "prod", "--if-match", "7");
  expect([exit, out]).toEqual([4, ""]);
  for (const part of [
    "error: it has changed since",
    "version_mismatch",
    "/spec/agent",
    "another at /spec/x",
    "8 is the newest",
    "req-1",
  ])
    expect(err).toContain(part);
  expect(me.requests[0]!.headers["if-match"]).toBe('"7"');
});

test.each<[string[], number, string]>([
  [["app", "frobnicate"], 2, "unknown command"],
  [["app", "get"], 2, "missing required argument"],
  [["app", "create"], 2, "an id is missing"],
  [["app", "list", "-o", "csv"], 2, "Allowed choices"],
  [["app", "list", "--limit", "x"], 2, "--limit takes a number"],
  [["app", "wait", "a", "--timeout", "soon"], 2, "--timeout must be a duration"],
  [["app", "sync", "a", "--resource", "nonsense"], 2, "--resource takes"],
  [["app", "patch", "a"], 2, "nothing to change"],
  [["app", "patch", "a", "--set", "x"], 2, "--set takes path=value"],
  [["app", "patch", "a", "--set", "__proto__.x=1"], 2, "is not a field"],
  [["apply", "-f", "/nonexistent"], 2, "ENOENT"],
  [["app", "list", "--context", "nowhere"], 2, "there is no context"],
])("%j exits %d", async (argv, exit, text) => {
  const got = await person(() => ({ body: { items: [] } })).types(...argv);
  expect([got.exit, got.err]).toEqual([exit, expect.stringContaining(text)]);
});

test("nothing between is taken for the service", async () => {
  const got = await person(() => ({ status: 502, type: "text/html", body: "<html>" })).types("app", "list");
  expect([got.exit, got.err]).toEqual([7, expect.stringContaining("not from an Outpost service")]);
});

test.each([
  ["json", (out: string) => JSON.parse(out).items[0].id],
  ["yaml", (out: string) => /\bid: (\w+)/.exec(out)![1]],
  ["name", (out: string) => out.trim().split("/")[1]],
  ["table", (out: string) => out.split("\n")[1]!.split(" ")[0]],
  ["wide", (out: string) => out.split("\n")[1]!.split(" ")[0]],
])("list -o %s", async (format, id) => {
  const { out } = await person(() => ({ body: { items: [app(ready)] } })).types("app", "list", "-o", format);
  expect(id(out)).toBe("guestbook");
  expect(out).not.toContain("\u001b");
});

test("list follows every page", async () => {
  const me = person(({ url }) => ({
    body: url.searchParams.has("cursor") ? { items: [app(ready)] } : { items: [app(ready)], nextCursor: "n" },
  }));
  expect((await me.types("app", "list", "-o", "name")).out).toBe("app/guestbook\napp/guestbook\n");
});

test("text from elsewhere cannot command the terminal", async () => {
  const bad = app({ ...ready, health: { status: "Degraded", message: "\u001b]0;owned\u0007\u202e" } });
  const { out } = await person(() => ({ body: bad })).types("app", "get", "guestbook");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
  expect(out).not.toMatch(/[\u001b\u0007\u202e]/);
});

test("credentials are sealed before they are sent, to the agent in its own scope", async () => {
  const keys = await generateSealKeys();
  const me = person(({ operation }: Seen) => {
    if (operation === "whoAmI") return { body: { account: "default", id: "me", role: "admin" } };
    if (operation === "getAgent")
      return { body: { ...head, id: "prod", spec: {}, status: { sealKey: { id: "k1", publicKey: keys.publicKey } } } };
    return { body: { ...head, id: "code", spec: {}, status: {} } };
  });
  const { exit, err } = await me.types(
    "--org",
    "o",
    "repo",
    "create",
    "code",
    "--agent",
    "account.prod",
    "--url",
    "https://git.test/a",
    "--password-file",
    "-",
  );
  expect([exit, err]).toEqual([0, "✓ repo code created\n"]);
  expect(JSON.stringify(me.requests)).not.toContain("secret-from-stdin");
  expect(me.requests.find((r) => r.operation === "getAgent")!.url.search).toBe("");
  const put = me.requests.find((r) => r.operation === "putRepository")!;
  expect(put.headers["if-none-match"]).toBe("*");
  const context = { account: "default", org: "o", project: undefined, collection: "repositories", id: "code" } as const;
  expect(await open(keys.privateKey, context, put.body.spec.sealedCredentials)).toEqual({
    password: "secret-from-stdin",
  });
});

test("credentials for an agent without a key are not sent at all", async () => {
  const me = person(({ operation }) => ({
    body:
      operation === "whoAmI"
        ? { account: "default", id: "me", role: "admin" }
        : { ...head, id: "prod", spec: {}, status: {} },
  }));
  const { exit, err } = await me.types(
    "repo",
    "create",
    "code",
    "--agent",
    "prod",
    "--url",
    "https://git.test/a",
    "--password-file",
    "-",
  );
  expect([exit, err]).toEqual([4, expect.stringContaining("has not enrolled yet")]);
  expect(me.requests.some((r) => r.operation === "putRepository")).toBe(false);
});

test("a file may hold several kinds; they go in the order in which they can be created", async () => {
  const file = join(dir, "all.yaml");
  await writeFile(
    file,
    "kind: Application\nid: b\nspec: {agent: a, destination: {}}\n---\nkind: Agent\nid: a\nuid: taken-from-get\nspec: {}\n",
  );
  const me = person(() => ({ body: app(ready) }));
  expect((await me.types("apply", "-f", file)).exit).toBe(0);
  expect(me.requests.map((r) => r.operation)).toEqual(["putAgent", "putApplication"]);
});

test.each([
  ["id: a\nspec: {}", "`kind` is missing"],
  ["kind: Nothing\nid: a\nspec: {}", "there is no kind"],
  ["kind: Agent\nspec: {}", "`id` is missing"],
  ["kind: Agent\nid: a", "`spec` of a is missing"],
  ["kind: Agent\nid: a\nspecc: {}\nspec: {}", 'no field "specc"'],
  ["kind: [", "all.yaml"],
  ["", "holds no object"],
])("a file with %j is refused before anything is sent", async (text, want) => {
  const file = join(dir, "all.yaml");
  await writeFile(file, text);
  const me = person(() => ({}));
  expect(await me.types("apply", "-f", file)).toMatchObject({ exit: 2, err: expect.stringContaining(want) });
  expect(me.requests).toEqual([]);
});

test("flags go where the contract has their fields", async () => {
  const me = person(() => ({ body: app(ready) }));
  await me.types(
    "app",
    "create",
    "guestbook",
    "--agent",
    "prod",
    "--repository",
    "code",
    "--revision",
    "main",
    "--path",
    "k8s",
    "--dest-namespace",
    "web",
    "--auto-prune",
    "--no-auto-self-heal",
    "--sync-options",
    "CreateNamespace=true,Validate=false",
    "--retry-limit",
    "3",
    "--set",
    "source.helm.valuesObject.replicas=2",
  );
  expect(me.requests[0]!.body.spec).toEqual({
    agent: "prod",
    destination: { namespace: "web" },
    source: { repository: "code", targetRevision: "main", path: "k8s", helm: { valuesObject: { replicas: 2 } } },
    syncPolicy: {
      automated: { prune: true, selfHeal: false },
      syncOptions: ["CreateNamespace=true", "Validate=false"],
      retry: { limit: 3 },
    },
  });
});

test("wait says what is missing and ends when it is there", async () => {
  const slow = app({
    observedGeneration: 2,
    sync: { status: "Synced" },
    health: { status: "Progressing" },
    resources: [
      {
        group: "apps",
        version: "v1",
        kind: "Deployment",
        namespace: "web",
        name: "api",
        health: "Progressing",
        message: "0 of 2 available",
      },
    ],
  });
  const me = person(({ operation }) =>
    operation === "watch"
      ? {
          type: "text/event-stream",
          body: event(app({})) + event(slow, 2) + event({}, 3, "bookmark") + event(app(ready), 4),
        }
      : { body: app({}) },
  );
  const { exit, err } = await me.types("app", "wait", "guestbook");
  expect(exit).toBe(0);
  expect(err.split("\n").map((l) => l.replace(/ \(.*\)$/, ""))).toEqual([
    "app guestbook: waiting for the agent to see the newest version",
    "app guestbook: waiting for apps/Deployment web/api: 0 of 2 available",
    "✓ app guestbook: Synced and Healthy",
    "",
  ]);
});

test("wait that takes too long exits 5 with the last reason; it resumes where it was cut", async () => {
  const me = person(({ operation }) =>
    operation === "watch"
      ? {
          type: "text/event-stream",
          body: event(app({ ...ready, health: { status: "Degraded", message: "crash" } }), 9),
        }
      : { body: app({}) },
  );
  // A lost stream is opened again after a second.
  const { exit, err } = await me.types("app", "wait", "guestbook", "--timeout", "6s");
  expect([exit, err]).toEqual([5, expect.stringContaining("did not get there within 6s: crash")]);
  expect(
    me.requests
      .filter(({ operation }) => operation === "watch")
      .at(-1)!
      .url.searchParams.get("since"),
  ).toBe("9");
});

test("wait for what does not exist fails at once", async () => {
  expect((await person(() => problem("not_found")).types("app", "wait", "nothing")).exit).toBe(3);
});

test("delete waits until it is gone", async () => {
  const me = person(({ operation }) =>
    operation === "watch"
      ? {
          type: "text/event-stream",
          body:
            event(app({ delivery: { state: "Deleting", message: "2 objects left" } })) +
            event({ id: "guestbook" }, 2, "delete"),
        }
      : { status: 202, body: app({}) },
  );
  const { exit, err } = await me.types("app", "delete", "guestbook", "--cascade", "foreground");
  expect([exit, err]).toEqual([0, expect.stringMatching(/2 objects left.*\n✓ app guestbook: gone/)]);
  expect(me.requests[0]!.url.search).toBe("?cascade=foreground");
});

test("app diff exits 1 when Git and live differ", async () => {
  const item = {
    group: "apps",
    kind: "Deployment",
    namespace: "web",
    name: "api",
    change: "update",
    desired: "replicas: 2\n",
    live: "replicas: 1\n",
  };
  const { exit, out } = await person(() => ({ body: { items: [item] } })).types("app", "diff", "guestbook");
  expect([exit, out]).toEqual([1, "~ update apps/Deployment web/api\n  - replicas: 1\n  + replicas: 2\n"]);
  expect((await person(() => ({ body: { items: [] } })).types("app", "diff", "guestbook")).exit).toBe(0);
  const refused = { code: "agent_refused", status: 422, detail: "no branch nope", title: "", type: "about:blank" };
  const wrong = person(() => ({ status: 422, body: refused }));
  expect((await wrong.types("app", "diff", "guestbook", "--revision", "nope")).exit).toBe(2);
});

test("diffText shows a secret only as its digest was given", () => {
  expect(
    diffText({ kind: "Secret", name: "s", change: "create", desired: "password: sha256:ab\n" }, colours(false)),
  ).toBe("+ create Secret s\n  + password: sha256:ab");
});

test("task run --follow shows each line once and exits as the task did", async () => {
  let asked = 0;
  const me = person(({ operation, url }) => {
    if (operation === "createTask" || operation === "getTask")
      return {
        body: {
          id: "t1",
          kind: "shell.run",
          params: {},
          state: "Failed",
          message: "exit 3",
          createdAt: head.createdAt,
          attempts: [],
        },
      };
    expect(url.searchParams.get("after")).toBe(["0", "2"][asked]);
    return asked++ === 0
      ? {
          body: {
            items: [
              { seq: 1, stream: "stdout", text: "one" },
              { seq: 2, stream: "stderr", text: "two" },
            ],
            complete: false,
          },
        }
      : { body: { items: [{ seq: 3, stream: "stdout", text: "three\n" }], complete: true } };
  });
  const { exit, out, err } = await me.types(
    "task",
    "run",
    "shell.run",
    "--script-file",
    "-",
    "--env",
    "A=1",
    "--selectors",
    "linux,eu",
    "--follow",
  );
  expect([exit, out]).toEqual([1, "one\nthree\n"]);
  expect(err).toContain("ended as Failed: exit 3");
  expect(me.requests[0]!.body).toEqual({
    kind: "shell.run",
    params: { script: "secret-from-stdin\n", env: { A: "1" } },
    selectors: ["linux", "eu"],
  });
});

test("login checks the key, keeps it for its owner alone, and logout forgets it", async () => {
  const OUTPOST_CONFIG = join(dir, "config.json");
  const me = person(() => ({ body: { account: "default", id: "anna", role: "editor", org: "team" } }), {
    env: { OUTPOST_CONFIG },
  });
  expect(await me.types("login", "http://outpost.localhost:8080/", "--key-file", "-", "--name", "home")).toMatchObject({
    exit: 0,
    err: expect.stringContaining("as anna"),
  });
  expect(JSON.parse(await readFile(OUTPOST_CONFIG, "utf8"))).toEqual({
    current: "home",
    contexts: { home: { endpoint: "http://outpost.localhost:8080", apiKey: "secret-from-stdin", org: "team" } },
  });
  expect((await stat(OUTPOST_CONFIG)).mode & 0o777).toBe(0o600);
  const listed = await me.types("context", "list", "-o", "json");
  expect(listed.out).not.toContain("secret-from-stdin");
  expect((await me.types("whoami")).out).toContain("anna with role editor in default/team");
  expect(me.requests.at(-1)!.headers.authorization).toBe("Bearer secret-from-stdin");
  // The key of one service is never sent to another.
  expect((await me.types("whoami", "--endpoint", "http://elsewhere.test")).exit).toBe(6);
  expect((await me.types("logout")).exit).toBe(0);
  expect((await me.types("whoami")).exit).toBe(6);
});

test("a refused key is not kept", async () => {
  const OUTPOST_CONFIG = join(dir, "config.json");
  expect(
    (
      await person(() => problem("unauthenticated"), { env: { OUTPOST_CONFIG } }).types(
        "login",
        "http://a.test",
        "--key-file",
        "-",
      )
    ).exit,
  ).toBe(6);
  await expect(stat(OUTPOST_CONFIG)).rejects.toThrow();
});

test.each([
  [{}, "waiting for the agent"],
  [{ ...ready, observedGeneration: 1 }, "waiting for the agent"],
  [
    { ...ready, conditions: [{ type: "ComparisonError", status: "True", reason: "PathNotFound", message: "no k8s/" }] },
    "PathNotFound: no k8s/",
  ],
  [{ ...ready, operation: { phase: "Failed", message: "forbidden" } }, "sync failed: forbidden"],
  [{ ...ready, delivery: { state: "Refused", message: "no CRD" } }, "refused it: no CRD"],
  [{ ...ready, sync: { status: "OutOfSync" } }, "OutOfSync, Healthy"],
])("an application with %j is not ready", (status, want) =>
  expect(application(app(status))).toMatchObject({ ready: false, reason: expect.stringContaining(want) }),
);

test("an error that the detail has told already is not told again", async () => {
  const errors = [
    { pointer: "/spec/argoProject", detail: "must be a name" },
    { pointer: "/spec/agent", detail: "is missing" },
  ];
  const problem = {
    code: "invalid_request",
    status: 400,
    detail: "/spec/argoProject must be a name",
    pointer: "/spec/argoProject",
    errors,
  };
  const { err } = await person(() => ({ status: 400, body: problem })).types("org", "get", "x");
  expect(err.split("\n").filter((line) => line.includes("also"))).toEqual([expect.stringContaining("is missing")]);
  expect(err.match(/must be a name/g)).toHaveLength(1);
});
