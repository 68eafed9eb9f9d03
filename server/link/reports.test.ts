import { Reports } from "./reports.ts";

const id = (n: number) => ({ collection: "applications" as const, key: `-/-/app${n}`, uid: `u${n}` });

test("keeps only the latest report of an object", () => {
  const reports = new Reports();
  for (let i = 0; i < 100_000; i++) reports.put(id(i % 50), { status: { i } });
  expect(reports.size).toBe(50);
  expect(reports.coalesced).toBe(99_950);
  expect(reports.batch().map((report) => report.status)).toEqual(
    Array.from({ length: 50 }, (_, n) => ({ i: 99_950 + n })),
  );
});
test("a status does not hide an acknowledgement, nor the other way round", () => {
  const reports = new Reports();
  reports.put(id(1), { generation: 3, outcome: "refused", reason: "AlreadyExists", message: "taken" });
  reports.put(id(1), { status: { sync: 1 } });
  expect(reports.batch()[0]).toMatchObject({
    generation: 3,
    outcome: "refused",
    reason: "AlreadyExists",
    status: { sync: 1 },
  });
  reports.put(id(1), { generation: 4, outcome: "applied" });
  const [got] = reports.batch();
  expect(got).toMatchObject({ generation: 4, outcome: "applied", status: { sync: 1 } });
  expect(got).not.toHaveProperty("reason");
});
test("what changes while a batch is under way is sent again", () => {
  const reports = new Reports();
  reports.put(id(1), { status: { n: 1 } });
  reports.put(id(2), { status: { n: 1 } });
  const batch = reports.batch();
  reports.put(id(1), { status: { n: 2 } });
  reports.sent(batch);
  expect(reports.batch().map((report) => [report.key, report.status])).toEqual([["-/-/app1", { n: 2 }]]);
});
test("an object that is made again under the same name is another object", () => {
  const reports = new Reports();
  reports.put(id(1), { generation: 9, outcome: "deleted" });
  reports.put({ ...id(1), uid: "other" }, { generation: 1, outcome: "applied" });
  expect(reports.batch().map(({ uid, outcome }) => [uid, outcome])).toEqual([
    ["u1", "deleted"],
    ["other", "applied"],
  ]);
});
test("batches stay within a request and carry oversized ones without their resources", () => {
  const reports = new Reports();
  const resources = Array.from({ length: 20_000 }, (_, n) => ({
    version: "v1",
    kind: "ConfigMap",
    name: `configmap-${n}`,
  }));
  reports.put(id(1), { status: { resources, health: { status: "Healthy" } } });
  for (let n = 2; n < 40; n++) reports.put(id(n), { status: { resources: resources.slice(0, 1000) } });
  let sent = 0;
  for (let batch = reports.batch(); batch.length; batch = reports.batch()) {
    expect(JSON.stringify(batch).length).toBeLessThan(1024 * 1024);
    if (!sent)
      expect(batch[0]!.status).toMatchObject({
        resources: [],
        health: { status: "Healthy" },
        conditions: [{ type: "ResourcesNotReported" }],
      });
    sent += batch.length;
    reports.sent(batch);
  }
  expect(sent).toBe(39);
});
