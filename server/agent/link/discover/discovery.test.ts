import { validateApplicationSpec } from "../../../../openapi/contract/validators.js";
import { stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Batch } from "../../../link/exchange.ts";
import type { Open } from "../../../link/session.ts";
import { Discovery } from "./discovery.ts";
import type { DiscoveredReport } from "./report.ts";

const OWN = "argocd";
const session = (features: string[] = ["discovered"]) => ({ features }) as unknown as Open;
const app = (name: string, more: Partial<KubeObject> & { uid?: string; namespace?: string } = {}): KubeObject => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: { name, namespace: more.namespace ?? OWN, uid: more.uid ?? `uid-${name}`, ...more.metadata },
  spec: {
    project: "default",
    destination: { namespace: "x" },
    source: { repoURL: "https://git.example.com/x.git", path: name },
  },
  ...(more.status ? { status: more.status } : {}),
});
const others = ["ApplicationSet", "AppProject", "Secret"];

function discovery(listed = true): Discovery {
  const d = new Discovery({ own: OWN, made: () => [] });
  for (const kind of ["Application", ...others]) d.expect(kind, OWN);
  if (listed) for (const kind of ["Application", ...others]) d.listed(kind, OWN);
  return d;
}

/** Sends everything there is to send; each request as it goes out. */
async function drain(d: Discovery, open: Open): Promise<Batch["body"][]> {
  await d.idle;
  const requests: Batch["body"][] = [];
  for (let batch = d.batch(open, undefined); batch; batch = d.batch(open, undefined)) {
    requests.push(batch.body);
    batch.settled();
  }
  return requests;
}
const namesOf = (requests: Batch["body"][]) =>
  requests.flatMap(({ discovered = [] }) => discovered.map(({ name }) => name));
const listedOf = (requests: Batch["body"][]) =>
  requests.flatMap(({ listed = [] }) =>
    listed.map(({ collection, namespace, count, round }) => [collection, namespace, count, round]),
  );

test("a session begins with everything, and then each collection's round is closed with its count", async () => {
  const d = discovery();
  for (let n = 0; n < 450; n++) d.seen("Application", app(`app-${n}`));
  await d.idle;
  const open = session();
  d.resync(open);
  const requests = await drain(d, open);
  expect(requests.map(({ discovered = [] }) => discovered.length)).toEqual([200, 200, 50]);
  expect(new Set(requests.flatMap(({ discovered = [] }) => discovered.map(({ round }) => round)))).toEqual(
    new Set([1]),
  );
  // Nothing is said to be complete before its last report goes out.
  expect(requests.slice(0, 2).flatMap(({ listed = [] }) => listed)).toEqual([]);
  expect(listedOf(requests)).toEqual([
    ["applications", undefined, 450, 1],
    ["applicationsets", undefined, 0, 1],
    ["appprojects", undefined, 0, 1],
    ["repositories", undefined, 0, 1],
    ["clusters", undefined, 0, 1],
  ]);
});

test("after the round only what changed is told, and a look of the controller is not a change", async () => {
  const d = discovery();
  const open = session();
  const status = { sync: { status: "Synced" }, reconciledAt: "2026-01-01T00:00:00Z" };
  d.seen("Application", app("a", { status }));
  d.resync(open);
  await drain(d, open);
  d.seen("Application", app("a", { status: { ...status, reconciledAt: "2026-01-01T00:03:00Z" } }));
  expect(await drain(d, open)).toEqual([]);
  d.seen("Application", app("a", { status: { sync: { status: "OutOfSync" } } }));
  const [request] = await drain(d, open);
  expect(request!.discovered).toMatchObject([{ name: "a", status: { sync: { status: "OutOfSync" } } }]);
  expect(request!.discovered![0]).not.toHaveProperty("round");
});

test("an object that is deleted is told as deleted, and one of the same name that is made again as another", async () => {
  const d = discovery();
  const open = session();
  d.seen("Application", app("a", { uid: "1" }));
  d.resync(open);
  await drain(d, open);
  d.seen("Application", app("a", { uid: "2" }));
  d.lost("Application", OWN, "never-there");
  const told = (await drain(d, open)).flatMap(({ discovered = [] }) => discovered);
  expect(told.map(({ uid, deleted }) => [uid, deleted])).toEqual([
    ["1", true],
    ["2", undefined],
  ]);
});

test("what was not sent when the session ended is sent in the next one, in a round of its own", async () => {
  const d = discovery();
  const [first, second] = [session(), session()];
  d.seen("Application", app("a"));
  d.resync(first);
  await d.idle;
  const lost = d.batch(first, undefined)!;
  expect(lost.body.discovered).toHaveLength(1);
  d.resync(second);
  // Its answer came after the next session had begun.
  lost.settled();
  expect(d.batch(first, undefined)).toBeUndefined();
  const requests = await drain(d, second);
  expect(namesOf(requests)).toEqual(["a"]);
  expect(listedOf(requests)[0]).toEqual(["applications", undefined, 1, 1]);
});

test("a collection is not said to be complete before it was listed", async () => {
  const d = discovery(false);
  const open = session();
  d.resync(open);
  for (const kind of others) d.listed(kind, OWN);
  expect(listedOf(await drain(d, open)).map(([collection]) => collection)).not.toContain("applications");
  d.seen("Application", app("a"));
  d.listed("Application", OWN);
  expect(listedOf(await drain(d, open))).toEqual([["applications", undefined, 1, 1]]);
});

test("where one namespace cannot be listed the others are complete by themselves, the agent says which is missing, and a later list begins a new round", async () => {
  const d = discovery();
  d.expect("Application", "team-a");
  const open = session();
  d.seen("Application", app("a"));
  d.resync(open);
  d.failed("Application", "team-a", stop("Forbidden", "no right to list applications"));
  const requests = await drain(d, open);
  expect(listedOf(requests).filter(([collection]) => collection === "applications")).toEqual([
    ["applications", OWN, 1, 1],
  ]);
  expect(requests.flatMap(({ conditions = [] }) => conditions)).toMatchObject([
    { type: "DiscoveryIncomplete", reason: "Forbidden" },
  ]);
  d.seen("Application", app("b", { namespace: "team-a" }));
  d.listed("Application", "team-a");
  const later = await drain(d, open);
  expect(namesOf(later).sort()).toEqual(["a", "b"]);
  expect(listedOf(later)).toEqual([["applications", undefined, 2, 2]]);
  expect(later.at(-1)!.conditions).toEqual([]);
});

test("when the service asks, everything is told once more, in a round of its own", async () => {
  const d = discovery();
  const open = session();
  d.again();
  d.seen("Application", app("a"));
  d.resync(open);
  await drain(d, open);
  d.again();
  const requests = await drain(d, open);
  expect(namesOf(requests)).toEqual(["a"]);
  expect(listedOf(requests)).toContainEqual(["applications", undefined, 1, 2]);
});

test("a service that does not know discovered objects is told nothing", async () => {
  const d = discovery();
  const open = session([]);
  d.seen("Application", app("a"));
  d.resync(open);
  await d.idle;
  expect(d.batch(open, undefined)).toBeUndefined();
});

test("an object of the service's own is told in full rounds alone, with its mark", async () => {
  const d = discovery();
  const open = session();
  d.resync(open);
  await drain(d, open);
  const metadata = { name: "a", labels: { "outpost.dev/managed": "true" }, annotations: { "outpost.dev/uid": "ours" } };
  d.seen("Application", app("a", { metadata: { ...metadata, namespace: OWN, uid: "1" } }));
  expect(await drain(d, open)).toEqual([]);
  const next = session();
  d.resync(next);
  expect((await drain(d, next)).flatMap(({ discovered = [] }) => discovered)).toMatchObject([
    { name: "a", mark: "ours" },
  ]);
});

test("a Secret is told by name, type and address; its annotations, which may hold its data, are not", async () => {
  const d = discovery();
  const open = session();
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  d.seen("Secret", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "repo-1",
      namespace: OWN,
      uid: "s1",
      labels: { "argocd.argoproj.io/secret-type": "repository" },
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": "s3cret", other: "s3cret" },
    },
    data: { url: base64("https://git.example.com/x.git"), password: base64("s3cret"), name: base64("shop") },
  });
  d.resync(open);
  const [report] = (await drain(d, open)).flatMap(({ discovered = [] }) => discovered) as [DiscoveredReport];
  expect(JSON.stringify(report)).not.toMatch(/s3cret|c3Nj/);
  expect(report).toMatchObject({
    collection: "repositories",
    name: "repo-1",
    displayName: "shop",
    inexpressible: ["data.password"],
  });
});

test("an application of hostile size is told within a report's bound", async () => {
  const d = discovery();
  const open = session();
  const resources = Array.from({ length: 20_000 }, (_, n) => ({
    version: "v1",
    kind: "ConfigMap",
    name: `c-${n}`,
    namespace: "x",
  }));
  const annotations = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`a/${n}`, "x".repeat(500)]));
  d.seen(
    "Application",
    app("a", { status: { resources }, metadata: { name: "a", namespace: OWN, uid: "1", annotations } }),
  );
  d.resync(open);
  const [report] = (await drain(d, open)).flatMap(({ discovered = [] }) => discovered) as [DiscoveredReport];
  expect(JSON.stringify(report).length).toBeLessThan(300_000);
  expect(Object.keys(report.annotations!)).toHaveLength(64);
  expect(report.status?.conditions).toMatchObject([{ type: "ResourcesNotReported" }]);
  expect(validateApplicationSpec({ ...report.spec, agent: "one" })).toBe(true);
});

test("a list of thousands leaves room for everything else, and is not said to be complete before its last object is held", async () => {
  const d = discovery(false);
  const open = session();
  d.resync(open);
  for (const kind of others) d.listed(kind, OWN);
  let longest = 0;
  let last = performance.now();
  const beat = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  for (let n = 0; n < 3_000; n++) d.seen("Application", app(`app-${n}`));
  d.listed("Application", OWN);
  expect([d.size < 3_000, new Set([...d.places("Application")].map(({ metadata }) => metadata.name)).size]).toEqual([
    true,
    3_000,
  ]);
  expect(d.batch(open, undefined)?.body.listed ?? []).not.toContainEqual(
    expect.objectContaining({ collection: "applications" }),
  );
  await d.idle;
  clearInterval(beat);
  expect(listedOf(await drain(d, open))).toContainEqual(["applications", undefined, 3_000, 1]);
  // A heartbeat has seconds; the machine of a test may be slow.
  expect(longest).toBeLessThan(1_000);
});

test("the tenant mark of an object is told however many annotations it has, and however large it is", async () => {
  const d = discovery();
  const open = session();
  d.resync(open);
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`a${n}`, "1"]));
  const annotations = { ...many, "outpost.dev/tenant": "shop/-" };
  const status = { summary: { images: Array.from({ length: 10_000 }, (_, n) => `registry.example.com/image-${n}`) } };
  d.seen("Application", app("many", { namespace: "team", metadata: { annotations } as never }));
  d.seen("Application", app("large", { namespace: "team", metadata: { annotations } as never, status }));
  const told = (await drain(d, open)).flatMap(({ discovered = [] }) => discovered);
  expect(told.map(({ name, annotations: kept = {} }) => [name, Object.keys(kept).length])).toEqual([
    ["many", 64],
    ["large", 1],
  ]);
  for (const one of told) expect(one.annotations?.["outpost.dev/tenant"]).toBe("shop/-");
});
