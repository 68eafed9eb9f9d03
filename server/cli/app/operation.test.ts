import { application } from "../objects/nouns.ts";
import { person, type Seen } from "../testing.ts";

const head = {
  uid: "u",
  generation: 2,
  version: "7",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};
const app = (status: object) => ({
  ...head,
  id: "web",
  spec: { agent: "prod", destination: {} },
  status: { observedGeneration: 2, ...status },
});
const event = (object: object, id: number) => `id: ${id}\nevent: put\ndata: ${JSON.stringify(object)}\n\n`;
const stream = (...states: object[]) => ({
  type: "text/event-stream",
  body: states.map((state, i) => event(app(state), i)).join(""),
});
const done = { id: "s1", phase: "Succeeded", message: "successfully synced" };

describe("rollback", () => {
  const service = (...states: object[]) => {
    return ({ operation }: Seen) => {
      if (operation === "rollbackApplication")
        return { status: 202, body: app({ operation: { id: "b1", phase: "Pending" } }) };
      if (operation === "watch")
        return {
          type: "text/event-stream",
          body: states.map((state, i) => event(app({ operation: state, health: { status: "Healthy" } }), i)).join(""),
        };
      return { body: app({}) };
    };
  };
  test("waits for its own operation and tells how it goes", async () => {
    const me = person(
      service(
        { id: "older", phase: "Failed" },
        { id: "b1", phase: "Running", message: "waiting for web" },
        { id: "b1", phase: "Succeeded", message: "all synced" },
      ),
    );
    const { exit, err } = await me.types("app", "rollback", "web", "3", "--prune");
    expect([exit, me.requests[0]!.body]).toEqual([0, { id: 3, prune: true }]);
    for (const part of ["waiting for the agent", "waiting for web", "✓ app web: all synced"])
      expect(err).toContain(part);
  });
  test("says that it takes the place of a sync that waits for its next attempt", async () => {
    const failed = "no such port. Retrying attempt #2 at 2026-01-01T00:05:00.000Z.";
    const states = [
      { id: "older", phase: "Running", message: failed },
      { id: "b1", phase: "Succeeded", message: "ok" },
    ];
    const { err } = await person(service(...states)).types("app", "rollback", "web", "3");
    expect(err).toContain("takes the place of a sync that failed: no such port.");
  });
  test("fails with the agent's reason", async () => {
    const { exit, err } = await person(
      service({ id: "b1", phase: "Error", message: "the history has no entry 3" }),
    ).types("app", "rollback", "web", "3");
    expect([exit, err]).toEqual([1, expect.stringContaining("the history has no entry 3")]);
  });
  test("takes a number", async () => {
    expect((await person(service()).types("app", "rollback", "web", "last")).exit).toBe(2);
  });
});

/** A service whose sync ends at once with these states, and whose cluster answers as given. */
const syncs =
  (states: object[], answers: Record<string, unknown> = {}, known: object[] = []) =>
  ({ operation }: Seen) => {
    if (operation === "syncApplication")
      return { status: 202, body: app({ operation: { id: "s1", phase: "Pending" } }) };
    if (operation === "watch") return stream(...states);
    return { body: answers[operation!] ?? (operation === "getApplication" ? app({ resources: known }) : {}) };
  };

describe("sync", () => {
  test("of what is no longer in Git ends at once and names --prune", async () => {
    const left = { kind: "ConfigMap", namespace: "shop", name: "extra", status: "OutOfSync", requiresPruning: true };
    const state = { operation: done, sync: { status: "OutOfSync" }, health: { status: "Healthy" }, resources: [left] };
    const { exit, err } = await person(syncs([state])).types("app", "sync", "web");
    expect([exit, err]).toEqual([
      1,
      expect.stringContaining("ConfigMap shop/extra is no longer in Git; run with --prune to delete it"),
    ]);
  });

  test("says that the agent is away and since when, not that all went well", async () => {
    const seen = new Date(Date.now() - 30_000).toISOString();
    const away = { getAgent: { id: "prod", status: { connected: false, lastSeenAt: seen } } };
    const { exit, err } = await person(syncs([{ operation: { id: "s0", phase: "Succeeded" } }], away)).types(
      "app",
      "sync",
      "web",
      "--timeout",
      "3s",
    );
    expect([exit, err]).toEqual([
      5,
      expect.stringMatching(/within 3s: agent prod is not connected \(it was last seen 3\ds ago\)/),
    ]);
  });

  const pulling = {
    getApplicationTree: {
      nodes: [
        {
          kind: "Deployment",
          version: "v1",
          name: "web",
          uid: "d",
          health: "Progressing",
          message: "0 of 1 updated replicas are available",
        },
        {
          kind: "Pod",
          version: "v1",
          name: "web-1",
          uid: "p",
          parents: ["d"],
          health: "Degraded",
          message: 'Back-off pulling image "web:9"',
          info: [{ name: "status", value: "ImagePullBackOff" }],
        },
      ],
    },
  };
  const stuck = { operation: done, sync: { status: "Synced" }, health: { status: "Progressing" } };
  test("names the deepest cause, and ends when waiting does not mend it", async () => {
    const { exit, err } = await person(syncs([stuck], pulling)).types("app", "sync", "web");
    expect([exit, err]).toEqual([
      1,
      expect.stringContaining('Pod web-1: ImagePullBackOff: Back-off pulling image "web:9"'),
    ]);
  }, 30_000);
  test("waits on when told so, and the cause is the reason at the end", async () => {
    const { exit, err } = await person(syncs([stuck], pulling)).types(
      "app",
      "sync",
      "web",
      "--keep-waiting",
      "--timeout",
      "2s",
    );
    expect([exit, err]).toEqual([
      5,
      expect.stringContaining("did not get there within 2s: Pod web-1: ImagePullBackOff"),
    ]);
  });

  const known = [
    { group: "apps", kind: "Deployment", namespace: "shop", name: "web" },
    { kind: "Service", namespace: "shop", name: "web" },
    { group: "a.example", kind: "Thing", name: "t" },
    { group: "b.example", kind: "Thing", name: "t" },
  ];
  test.each([
    ["Deployment/web", 0, { group: "apps", kind: "Deployment", name: "web" }, /✓/],
    ["apps/Deployment/shop/web", 0, { group: "apps", kind: "Deployment", namespace: "shop", name: "web" }, /✓/],
    ["Service/web", 0, { kind: "Service", name: "web" }, /✓/],
    ["Deployment/foo", 3, undefined, /application web has no Deployment foo; it has Deployment\/web, Service\/web/],
    ["Thing/t", 2, undefined, /in the groups a.example, b.example; put the group in front/],
  ])("--resource %s is what the application has", async (text, exit, want, says) => {
    const me = person(syncs([{ operation: done }], {}, known));
    const got = await me.types("app", "sync", "web", "--resource", text);
    expect([got.exit, got.err]).toEqual([exit, expect.stringMatching(says)]);
    expect(me.requests.find(({ operation }) => operation === "syncApplication")?.body.resources).toEqual(
      want && [want],
    );
  });
});

test("a rollback to what does not run is not green", async () => {
  const broken = { operation: { ...done, id: "b1" }, health: { status: "Degraded", message: "crash" } };
  const me = person(({ operation }) => {
    if (operation === "rollbackApplication")
      return { status: 202, body: app({ operation: { id: "b1", phase: "Pending" } }) };
    return operation === "watch" ? stream(broken) : { body: app({}) };
  });
  const { exit, err } = await me.types("app", "rollback", "web", "0", "--wait", "--timeout", "2s");
  expect([exit, err]).toEqual([5, expect.stringContaining("crash")]);
});

describe("sync --dry-run", () => {
  const results = [
    {
      kind: "Service",
      namespace: "web",
      name: "api",
      outcome: "Unchanged",
      message: "Service api unchanged (dry run)",
    },
    {
      group: "apps",
      kind: "Deployment",
      namespace: "web",
      name: "api",
      outcome: "Created",
      message: "Deployment api created (dry run)",
    },
    {
      kind: "ConfigMap",
      namespace: "web",
      name: "old",
      outcome: "PruneSkipped",
      message: "ignored (requires pruning)",
    },
  ];
  test("shows what would become of each object", async () => {
    const state = { operation: { ...done, dryRun: true, results } };
    const { exit, out, err } = await person(syncs([state])).types("app", "sync", "web", "--dry-run");
    expect([exit, out.split("\n").map((line) => line.split(/ {2,}/))]).toEqual([
      0,
      [
        ["RESOURCE", "WOULD", "MESSAGE"],
        ["apps/Deployment web/api", "create"],
        ["ConfigMap web/old", "leave", "ignored (requires pruning)"],
        ["Service web/api", "nothing"],
        [""],
      ],
    ]);
    expect(err).toContain("dry run: 1 to create, 1 to leave, 1 unchanged");
  });
  test("says why each would fail, and exits 1", async () => {
    const wrong = {
      kind: "Secret",
      namespace: "web",
      name: "s",
      outcome: "Failed",
      message: 'namespaces "web" not found',
    };
    const state = {
      operation: {
        id: "s1",
        phase: "Failed",
        message: "one or more objects failed",
        dryRun: true,
        results: [...results, wrong],
      },
    };
    const { exit, out, err } = await person(syncs([state])).types("app", "sync", "web", "--dry-run");
    expect([exit, out.split("\n")[1]]).toEqual([
      1,
      expect.stringMatching(/^Secret web\/s +fail +namespaces "web" not found$/),
    ]);
    expect(err).toContain("dry run: 1 would fail, 1 to create");
  });
  test("that failed is not what is said of the application or of the next sync", async () => {
    const before = { id: "d1", phase: "Failed", message: "one or more objects failed (dry run)", dryRun: true };
    const states = [
      { operation: before },
      { operation: done, sync: { status: "Synced" }, health: { status: "Healthy" } },
    ];
    const { exit, err } = await person(syncs(states)).types("app", "sync", "web");
    expect([exit, err.includes("dry run")]).toEqual([0, false]);
    expect(
      application(app({ operation: before, sync: { status: "OutOfSync" }, health: { status: "Healthy" } })).reason,
    ).toBe("OutOfSync, Healthy");
  });
});

test("a sync that waits for another operation says which, and how to end it", async () => {
  const other = { operation: { id: "x", phase: "Running", message: "Foo: no such kind. Retrying attempt #2." } };
  const { err } = await person(
    syncs([other, { operation: done, sync: { status: "Synced" }, health: { status: "Healthy" } }]),
  ).types("app", "sync", "web");
  expect(err).toContain("waiting for the end of another operation (`outpost app terminate web` ends it): Foo");
});

test("a sync that cannot begin says within two seconds what is wrong", async () => {
  const wrong = {
    type: "ComparisonError",
    status: "True",
    reason: "RevisionNotFound",
    message: "there is no branch `mian`",
  };
  const pending = { operation: { id: "s1", phase: "Pending" }, conditions: [wrong] };
  const { exit, err } = await person(syncs([pending])).types("app", "sync", "web", "--timeout", "1900ms");
  expect([exit, err]).toEqual([
    5,
    expect.stringContaining("the agent cannot begin: RevisionNotFound: there is no branch `mian`"),
  ]);
});
