import { type Answer, person, type Seen } from "./testing.ts";

const head = { uid: "u", generation: 1, version: "7", createdAt: "2026-01-01T00:00:00Z" };
const apps: Record<string, object> = {
  web: {
    ...head,
    id: "web",
    spec: { agent: "prod" },
    status: { sync: { status: "Synced" }, health: { status: "Healthy" } },
  },
  api: {
    ...head,
    id: "api",
    createdAt: "2026-02-01T00:00:00Z",
    spec: { agent: "prod" },
    status: { health: { status: "Degraded" } },
  },
  "db-10": { ...head, id: "db-10", spec: { agent: "prod", syncPolicy: { automated: { prune: true } } }, status: {} },
  "db-9": { ...head, id: "db-9", spec: { agent: "prod", syncPolicy: { automated: { enabled: false } } }, status: {} },
};
const idOf = ({ url }: Seen) => url.pathname.split("/")[3] ?? "";
const missing = { status: 404, body: { code: "not_found", status: 404, title: "Not found", detail: "It is gone." } };
const service = (seen: Seen): Answer => {
  if (seen.operation === "listApplications") return { body: { items: Object.values(apps) } };
  if (seen.operation === "getAgent") return { body: { id: "prod", status: { connected: true } } };
  return apps[idOf(seen)] ? { body: apps[idOf(seen)] } : missing;
};
const types = async (...words: string[]) => {
  const me = person(service);
  return { ...(await me.types(...words)), requests: me.requests };
};

test.each([
  [["app", "refresh", "web", "app/api"], ["web", "api"], undefined],
  [["app", "refresh", "--all"], Object.keys(apps), null],
  [
    ["app", "sync", "-l", "team=shop,env!=dev,tier in (a,b),!old,new", "--no-wait"],
    Object.keys(apps),
    "labels.team=shop,labels.env!=dev,labels.tier in (a,b),labels.old missing,labels.new exists",
  ],
  [
    ["app", "sync", "--filter", "health!=Healthy", "-l", "a=b", "--no-wait"],
    Object.keys(apps),
    "labels.a=b,health!=Healthy",
  ],
])("%j goes to %j", async (words, ids, filter) => {
  const { exit, requests, err } = await types(...words);
  expect([exit, err]).toEqual([0, expect.stringContaining("✓ app web")]);
  expect(
    requests
      .filter(({ operation }) => operation !== "listApplications")
      .map(idOf)
      .sort(),
  ).toEqual([...ids].sort());
  const list = requests.find(({ operation }) => operation === "listApplications");
  expect(list?.url.searchParams.get("filter")).toBe(filter);
});

test.each([
  [["app", "sync"], "missing required argument 'id'"],
  [["app", "sync", "web", "--all"], "either ids, or"],
  [["app", "sync", "--all", "--resource", "Pod/x"], "one application"],
  [["app", "refresh", "-l", "a=b=c"], "--selector takes labels"],
  [["app", "ls", "-w", "--filter", "a=b"], "--watch shows every change"],
  [["app", "ls", "--sort-by", "colour"], "--sort-by takes id"],
])("%j is refused before anything is done", async (words, want) => {
  const { exit, err, requests } = await types(...words);
  const changes = requests.filter(({ operation }) => operation !== "listApplications");
  expect([exit, err, changes]).toEqual([2, expect.stringContaining(want), []]);
});

test("of several all are tried, and one that fails is named", async () => {
  const { exit, err, out } = await types("app", "refresh", "web", "nothing", "api", "-o", "name");
  expect([exit, out]).toEqual([3, "app/web\napp/api\n"]);
  expect(err).toMatch(/error: It is gone[\s\S]*1 of 3 apps failed/);
});

test.each([
  [
    ["--sort-by", "id"],
    ["api", "db-9", "db-10", "web"],
  ],
  [
    ["--sort-by", "-id"],
    ["web", "db-10", "db-9", "api"],
  ],
  [
    ["--sort-by", "age"],
    ["web", "db-10", "db-9", "api"],
  ],
  [
    ["--sort-by", "health"],
    ["api", "web", "db-10", "db-9"],
  ],
  [
    ["--sort-by", ".status.health.status"],
    ["api", "web", "db-10", "db-9"],
  ],
])("list %j", async (words, want) => {
  const { out } = await types("app", "list", "-o", "name", ...words);
  expect(out.trim().split("\n")).toEqual(want.map((id) => `app/${id}`));
});

test("suspend and resume change whether an application syncs by itself, and nothing else", async () => {
  const patches = async (...words: string[]) => {
    const { exit, err, requests } = await types("app", ...words);
    return [
      exit,
      err.trim(),
      requests.filter(({ operation }) => operation === "patchApplication").map(({ body }) => body),
    ];
  };
  const body = (enabled: boolean) => ({ spec: { syncPolicy: { automated: { enabled } } } });
  expect(await patches("suspend", "db-10")).toEqual([0, "✓ app db-10 no longer syncs by itself", [body(false)]]);
  expect(await patches("resume", "db-9")).toEqual([0, "✓ app db-9 syncs by itself again", [body(true)]]);
  expect(await patches("suspend", "db-9")).toEqual([0, "✓ app db-9 does not sync by itself already", []]);
  expect(await patches("resume", "web")).toEqual([4, expect.stringContaining("outpost app set web --auto-sync"), []]);
});

test("delete asks at a terminal, and deletes nothing without a yes", async () => {
  const asked: string[] = [];
  const answers = (answer: string | undefined) =>
    person(() => ({ status: 204 }), {
      ask: async (question) => {
        asked.push(question);
        return answer;
      },
    });
  for (const [answer, exit, requests, ...words] of [
    ["n", 1, 0],
    ["", 1, 0],
    ["y", 0, 1],
    [undefined, 0, 1],
    ["n", 0, 1, "--yes"],
  ] as const) {
    const me = answers(answer);
    expect([(await me.types("app", "delete", "web", ...words)).exit, me.requests.length]).toEqual([exit, requests]);
  }
  expect(asked[0]).toBe("Delete app web and its objects in the cluster? [y/N] ");
  await answers("n").types("app", "delete", "web", "--cascade", "orphan");
  expect(asked.at(-1)).toBe("Delete app web? [y/N] ");
});

test.each([
  [
    ["app", "sync", ""],
    ["api", "db-10", "db-9", "web"],
  ],
  [["app", "get", "w"], ["web"]],
  [
    ["app", "sync", "web", "d"],
    ["db-10", "db-9"],
  ],
  [["app", "create", "new", "--agent", ""], ["prod"]],
  [["--org", "o", "app", "history", "a"], ["api"]],
  [["app", "diff", "web", ""], []],
])("completion of %j asks the service", async (words, want) => {
  const me = person((seen) =>
    seen.operation === "listAgents" ? { body: { items: [{ id: "prod" }] } } : service(seen),
  );
  const { exit, out } = await me.types("__complete", "--", ...words);
  expect([exit, out.split("\n").filter(Boolean).sort()]).toEqual([0, want]);
  if (words[0] === "--org") expect(me.requests[0]!.url.searchParams.get("org")).toBe("o");
});

test("completion says nothing when the service does not answer", async () => {
  const me = person(() => ({ status: 503, body: {} }));
  expect(await me.types("__complete", "--", "app", "get", "")).toEqual({ exit: 0, out: "", err: "" });
});

test.each([
  [["app", "logs", "web", "deploy/api"], { group: "apps", kind: "Deployment", name: "api" }],
  [["app", "events", "web", "Service/shop/api"], { kind: "Service", namespace: "shop", name: "api" }],
  [["app", "resource", "web", "deployment/api"], { group: "apps", kind: "Deployment", name: "api" }],
  [["app", "resource", "web", "Widget/x"], { group: "acme.io", kind: "Widget", name: "x" }],
])("%j names its object without the group", async (words, want) => {
  const me = person(({ operation }) => {
    if (operation === "getApplicationTree")
      return { body: { nodes: [{ group: "acme.io", kind: "Widget", version: "v1", name: "x" }] } };
    if (operation === "getApplicationLogs") return { type: "text/event-stream", body: "event: end\ndata: {}\n\n" };
    return { body: { items: [], live: {}, actions: [] } };
  });
  expect((await me.types(...words)).exit).toBe(0);
  const { searchParams } = me.requests.at(-1)!.url;
  expect(
    Object.fromEntries(
      ["group", "kind", "namespace", "name"].flatMap((key) =>
        searchParams.has(key) ? [[key, searchParams.get(key)]] : [],
      ),
    ),
  ).toEqual(want);
});
