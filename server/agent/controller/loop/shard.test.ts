import type { Application } from "../application.ts";
import { Shard } from "./shard.ts";

const apps = Array.from({ length: 500 }, (_, i) => {
  const spec = { destination: { server: `https://cluster-${i % 40}.example`, namespace: "a" } };
  return { apiVersion: "", kind: "", metadata: { name: `app-${i}` }, spec } as Application;
});

test.each(["application", "cluster"] as const)("shards by %s cover all applications, each exactly once", (by) => {
  for (const count of [1, 2, 3, 7]) {
    const shards = Array.from({ length: count }, (_, index) => new Shard(index, count, by));
    for (const app of apps) expect(shards.filter((shard) => shard.owns(app))).toHaveLength(1);
    for (const shard of shards)
      expect(apps.filter((app) => shard.owns(app)).length).toBeGreaterThan(apps.length / count / 3);
  }
});

test("all applications of a cluster are one shard's", () => {
  const shards = [0, 1, 2].map((index) => new Shard(index, 3, "cluster"));
  const owner = (app: Application) => shards.findIndex((shard) => shard.owns(app));
  for (const app of apps) expect(owner(app)).toBe(owner(apps[Number(app.metadata.name.slice(4)) % 40]!));
});

test("a cluster's Secret names its shard, if there is such a one", () => {
  const shards = [0, 1, 2].map((index) => new Shard(index, 3, "cluster"));
  const owner = (app: Application) => shards.findIndex((shard) => shard.owns(app));
  const before = apps.map(owner);
  for (const shard of shards) shard.pinned = () => 2;
  expect(new Set(apps.map(owner))).toEqual(new Set([2]));
  for (const shard of shards) shard.pinned = () => 3;
  expect(apps.map(owner)).toEqual(before);
});

test("the number is the Pod's own, and a wrong one is refused", () => {
  expect(Shard.of({ POD_NAME: "outpost-controller-2", OUTPOST_SHARDS: "3" }).index).toBe(2);
  expect(Shard.of({ POD_NAME: "outpost-controller-7d9f-x2" }).count).toBe(1);
  expect(Shard.of({ OUTPOST_SHARD: "1", OUTPOST_SHARDS: "2", OUTPOST_SHARD_BY: "cluster" }).index).toBe(1);
  for (const env of [
    { OUTPOST_SHARDS: "0" },
    { OUTPOST_SHARDS: "2" },
    { OUTPOST_SHARDS: "2", OUTPOST_SHARD: "2" },
    { OUTPOST_SHARD_BY: "x" },
  ])
    expect(() => Shard.of(env)).toThrow(/must be/);
});
