import { revisionText } from "../objects/nouns.ts";
import { person, type Seen } from "../testing.ts";
import { changeOf } from "./history.ts";

const A = "a".repeat(40);
const B = "b".repeat(40);
const helm = (replicas: number) => ({
  repoURL: "https://git.test/code",
  path: "web",
  helm: { valuesObject: { replicas } },
});
const entries = [
  {
    id: 0,
    revision: A,
    deployedAt: "2026-01-01T00:00:00Z",
    cause: "Manual",
    initiatedBy: "key:anna",
    source: helm(1),
    images: ["ghcr.io/acme/web:v1"],
  },
  {
    id: 1,
    revision: A,
    deployedAt: "2026-01-02T00:00:00Z",
    cause: "Automated",
    source: helm(2),
    images: ["ghcr.io/acme/web:v1"],
  },
  {
    id: 2,
    revision: B,
    deployedAt: "2026-01-03T00:00:00Z",
    cause: "Automated",
    source: helm(2),
    images: ["ghcr.io/acme/web:v2"],
  },
];
const commits: Record<string, object> = {
  [A]: { revision: A, author: "Anna <anna@acme.test>", message: "Add the web shop\n\nWith its chart." },
  [B]: { revision: B, author: "Ben <ben@acme.test>", message: "Use v2" },
};
const service = ({ operation, url }: Seen) => {
  if (operation === "getApplicationHistory") return { body: { items: entries } };
  return { body: commits[url.searchParams.get("revision")!] };
};

test("the history says who changed what, and asks for each commit once", async () => {
  const me = person(service);
  const { out } = await me.types("app", "history", "web");
  const rows = out
    .trim()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  expect(rows.map((row) => row.filter((_, i) => i !== 1))).toEqual([
    ["ID", "REVISION", "MESSAGE", "AUTHOR", "CHANGED", "IMAGES", "CAUSE", "BY"],
    ["2", B.slice(0, 12), "Use v2", "Ben", "revision changed", "web:v2", "Automated", "-"],
    ["1", A.slice(0, 12), "Add the web shop", "Anna", "values changed", "web:v1", "Automated", "-"],
    ["0", A.slice(0, 12), "Add the web shop", "Anna", "first", "web:v1", "Manual", "key:anna"],
  ]);
  expect(me.requests).toHaveLength(3);
});

test("an entry shows the source that it was deployed from", async () => {
  const { out } = await person(service).types("app", "history", "web", "1");
  expect(out).toMatch(
    /entry: +1\n[\s\S]*changed: +values changed[\s\S]*Source\n {2}repoURL: https:\/\/git.test\/code[\s\S]*replicas: 2/,
  );
  const none = await person(service).types("app", "history", "web", "7");
  expect([none.exit, none.err]).toEqual([3, expect.stringContaining("has no entry 7. It has 0, 1, 2.")]);
});

test("commits that the agent cannot tell leave the history as it is", async () => {
  const { exit, out } = await person((seen) =>
    seen.operation === "getApplicationRevision"
      ? { status: 503, body: { code: "agent_unavailable", status: 503, detail: "away" } }
      : service(seen),
  ).types("app", "history", "web");
  expect([exit, out]).toEqual([0, expect.stringContaining("values changed")]);
});

test.each([
  [
    { id: 1, deployedAt: "", revision: A, source: helm(1) },
    { id: 0, deployedAt: "", revision: A, source: helm(1) },
    "nothing changed",
  ],
  [
    { id: 1, deployedAt: "", revision: A, source: { ...helm(1), path: "x" } },
    { id: 0, deployedAt: "", revision: B, source: helm(2) },
    "revision, values, path changed",
  ],
  [{ id: 1, deployedAt: "", revision: A }, { id: 0, deployedAt: "", revision: B, source: helm(2) }, "revision changed"],
  [
    { id: 1, deployedAt: "", revisions: [A, B], sources: [helm(1), helm(1)] },
    { id: 0, deployedAt: "", revisions: [A, B], sources: [helm(1), helm(2)] },
    "values changed",
  ],
])("%j after %j", (entry, before, want) => expect(changeOf(entry, before)).toBe(want));

test("of several sources each commit is shown once and short", () => {
  expect(revisionText({ revisions: [A, A, B] })).toBe(`${A.slice(0, 12)}, ${B.slice(0, 12)}`);
  expect(revisionText({ revision: "1.2.3" })).toBe("1.2.3");
  expect(revisionText({})).toBe("");
});
