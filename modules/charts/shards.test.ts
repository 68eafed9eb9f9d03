import type { Manifest } from "../generate/manifests.ts";
import { agent, all, contains, env, names, pod } from "./testing.ts";

test("shards are Deployments of their own, each with its number and Pods that no other selects", () => {
  const made = agent({ controller: { shards: 3, shardBy: "cluster", replicas: 2 } });
  const shards = all(made, "Deployment").filter((d) => d.metadata.name.startsWith("outpost-agent-controller"));
  expect(shards.map((d) => d.metadata.name)).toEqual([0, 1, 2].map((i) => `outpost-agent-controller-${i}`));
  for (const [i, deployment] of shards.entries()) {
    expect(env(deployment)).toMatchObject({
      OUTPOST_SHARD: String(i),
      OUTPOST_SHARDS: "3",
      OUTPOST_SHARD_BY: "cluster",
    });
    expect([deployment.spec.replicas, pod(deployment).serviceAccountName]).toEqual([2, "outpost-agent-controller"]);
    const selecting = shards.filter((d) =>
      contains(deployment.spec.template.metadata.labels, d.spec.selector.matchLabels),
    );
    expect(selecting).toEqual([deployment]);
  }
  // One shard is no shard: a release of before is upgraded in place.
  expect(JSON.stringify(agent({ controller: { shards: 1 } }))).not.toContain("SHARD");
  expect(names(agent({ controller: { shards: 1 } }), "Deployment")).toContain("outpost-agent-controller");
  expect(() => agent({ mode: "all", controller: { shards: 2 } })).toThrow(/controller.shards need mode split/);
  for (const controller of [{ shards: 0 }, { shards: 101 }, { shards: "2" }, { shardBy: "namespace" }])
    expect(() => agent({ controller })).toThrow(/schema/);
});

test("the hosts that sets may ask are told to the controller and to the link, which tries what sets would make", () => {
  const scmProviders = ["api.github.com", "https://git.example:8443"];
  const got = (manifests: Manifest[]) =>
    all(manifests, "Deployment").map((d) => [d.metadata.name, env(d).OUTPOST_SCM_PROVIDERS]);
  expect(got(agent({ scmProviders })).filter(([, hosts]) => hosts)).toEqual([
    ["outpost-agent", scmProviders.join(",")],
    ["outpost-agent-controller", scmProviders.join(",")],
  ]);
  expect(got(agent({ mode: "all", scmProviders }))).toEqual([["outpost-agent", scmProviders.join(",")]]);
  expect(got(agent()).map(([, hosts]) => hosts)).toEqual([undefined, undefined, undefined, undefined]);
  for (const wrong of [["a,b"], [""], ["a b"]]) expect(() => agent({ scmProviders: wrong })).toThrow(/schema/);
});
