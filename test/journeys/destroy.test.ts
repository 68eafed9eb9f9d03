import { type World, world } from "../world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
});
afterAll(async () => {
  const ran = await w.terraform(w.stack, "apply", "-auto-approve");
  if (ran.code !== 0) throw new Error(ran.output);
});

test("terraform destroy leaves no object in the cluster and no row in the service", async () => {
  const ran = await w.terraform(w.stack, "destroy", "-auto-approve");
  expect([ran.code, ran.output]).toEqual([0, expect.stringContaining("Destroy complete!")]);
  const paths = [
    "/v1/applications",
    "/v1/repositories",
    "/v1/clusters",
    "/v1/agents",
    "/v1/delegates",
    "/v1/projects",
    "/v1/organizations",
  ];
  for (const path of paths) {
    const answer = await fetch(
      `http://127.0.0.1:${new URL(w.address).port}${path}?${/projects|organizations/.test(path) ? "" : "inherited=true"}`,
      { headers: { authorization: `Bearer ${w.apiKey}` } },
    );
    if (answer.ok) expect([path, ((await answer.json()) as { items: unknown[] }).items]).toEqual([path, []]);
  }
  const namespaces = (await w.cluster.kubectl("get", "namespaces", "-o", "jsonpath={.items[*].metadata.name}")).split(
    " ",
  );
  expect(namespaces.filter((n) => /outpost|guestbook/.test(n))).toEqual([]);
  const wide = await w.cluster.kubectl(
    "get",
    "clusterroles,clusterrolebindings,customresourcedefinitions",
    "-o",
    "name",
  );
  expect(wide.split("\n").filter((n) => /outpost|argoproj/.test(n))).toEqual([]);
});
