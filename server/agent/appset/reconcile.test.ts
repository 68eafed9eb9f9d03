import { done } from "../../base/outcome.ts";
import type { KubeObject } from "../../kube/object.ts";
import { MANAGED, TENANT } from "../project/tenant.ts";
import { reconcileSet, type SetDeps } from "./reconcile.ts";
import type { ApplicationSet } from "./types.ts";

/** The names of the applications that a set makes, and what it says of the others. */
async function madeBy(tenant: string | undefined, names: string[]): Promise<{ made: string[]; said: string }> {
  const made: string[] = [];
  let said = "";
  const project = { metadata: { name: "team", labels: { [MANAGED]: "true" } }, spec: {} };
  const home = {
    create: async (_: unknown, object: KubeObject) => {
      made.push(object.metadata.name);
      return done(object);
    },
    list: async () => done({ items: [project] }),
    patchStatus: async (_: unknown, __: string, ___: string, status: { conditions: { message: string }[] }) => {
      said = status.conditions.map(({ message }) => message).join("\n");
      return done({});
    },
  };
  const deps = {
    home,
    namespace: "outpost",
    world: { clusters: () => [] },
    applications: { get: () => undefined, all: () => [], seen: () => undefined },
    known: () => undefined,
    gave: () => undefined,
    written: () => undefined,
    now: Date.now,
  } as unknown as SetDeps;
  const destination = { name: "in-cluster", namespace: "web" };
  const source = { repoURL: "https://git.example/x", path: "." };
  const set = {
    metadata: { name: "set-b0b0b0b0b0b0", uid: "u", annotations: tenant ? { [TENANT]: tenant } : {} },
    spec: {
      goTemplate: true,
      generators: [{ list: { elements: names.map((name) => ({ name })) } }],
      template: { metadata: { name: "{{.name}}" }, spec: { project: "team", source, destination } },
    },
  } as unknown as ApplicationSet;
  await reconcileSet(deps, set);
  return { made, said };
}

test("a tenant's set takes no name that the service gives to applications of other scopes", async () => {
  const names = ["web", "web-a1a1a1a1a1a1", "web-b0b0b0b0b0b0", "web-a1a1a1"];
  const { made, said } = await madeBy("b/-", names);
  expect(made).toEqual(["web", "web-b0b0b0b0b0b0", "web-a1a1a1"]);
  expect(said).toMatch(/application web-a1a1a1a1a1a1 has a name that the service may give/);
  expect((await madeBy(undefined, names)).made).toEqual(names);
});
