import { person } from "../testing.ts";

const line = (seq: number, more: object = {}) => ({
  seq,
  at: "2026-01-01T00:00:00Z",
  actor: "key:anna",
  operation: "patchApplication",
  target: "-/-/web",
  outcome: "accepted",
  ...more,
});
const changes = [
  { path: "/source/targetRevision", before: "main", after: "v2" },
  { path: "/labels/app.kubernetes.io~1part-of", after: "shop" },
  { path: "/paused", before: true },
];

test("filters go to the service, with times as they are or as so long ago", async () => {
  const me = person(() => ({ body: { items: [] } }));
  const before = Date.now();
  await me.types(
    "audit",
    "--actor",
    "anna",
    "--noun",
    "app",
    "--target",
    "web",
    "--outcome",
    "denied",
    "--text",
    "v2",
    "--since",
    "2h",
    "--until",
    "2030-01-01T00:00:00Z",
  );
  const { since, ...query } = Object.fromEntries(me.requests[0]!.url.searchParams);
  expect(query).toEqual({
    actor: "anna",
    noun: "applications",
    target: "web",
    outcome: "denied",
    text: "v2",
    until: "2030-01-01T00:00:00Z",
    limit: "50",
  });
  expect(Math.abs(before - 7_200_000 - Date.parse(since!))).toBeLessThan(60_000);
});

test("a page without a line is not the end, and the limit is", async () => {
  const pages = [
    { items: [], nextCursor: "a" },
    { items: [line(2)], nextCursor: "b" },
    { items: [line(1)], nextCursor: "c" },
  ];
  let n = 0;
  const { out } = await person(() => ({ body: pages[n++] })).types(
    "audit",
    "--text",
    "x",
    "--limit",
    "2",
    "-o",
    "name",
  );
  expect([out, n]).toEqual(["2\n1\n", 3]);
});

test.each([
  ["table", "source.targetRevision, labels.app.kubernetes.io/part-of, +1"],
  ["wide", "source.targetRevision: main → v2; labels.app.kubernetes.io/part-of: none → shop; paused: true → none"],
])("-o %s says what was changed", async (format, want) => {
  const { out } = await person(() => ({ body: { items: [line(1, { changes })] } })).types("audit", "-o", format);
  expect(out).toContain(want);
});

test("export takes the same filters", async () => {
  const me = person(() => ({ type: "application/x-ndjson", body: "{}" }));
  expect(
    (await me.types("audit", "export", "--actor", "anna", "--since", "2026-01-01T00:00:00Z", "--org", "o")).out,
  ).toBe("{}");
  expect(Object.fromEntries(me.requests[0]!.url.searchParams)).toEqual({
    actor: "anna",
    since: "2026-01-01T00:00:00Z",
    format: "ndjson",
    org: "o",
  });
});
