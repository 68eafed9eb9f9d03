import { done } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { MANAGED, TENANT } from "../../project/tenant.ts";
import type { ApplicationSet } from "../types.ts";
import { reconcileSet, type SetDeps } from "./reconcile.ts";

interface Given {
  /** Applications that the namespace has already; `true` for those that this set made. */
  live?: Record<string, boolean>;
}

/** The names of the applications that a set creates or keeps, and what it says of the others. */
async function madeBy(
  tenant: string | undefined,
  names: string[],
  given: Given = {},
): Promise<{ made: string[]; said: string }> {
  const { live = {} } = given;
  const made: string[] = [];
  let said = "";
  const project = { metadata: { name: "team", labels: { [MANAGED]: "true" } }, spec: {} };
  const write = async (_: unknown, object: KubeObject) => {
    made.push(object.metadata.name);
    return done(object);
  };
  const home = {
    create: write,
    update: write,
    delete: async (_: unknown, __: string, name: string) => {
      made.push(`${name} deleted`);
      return done({});
    },
    list: async () => done({ items: [project] }),
    patchStatus: async (_: unknown, __: string, ___: string, status: { conditions: { message: string }[] }) => {
      said = status.conditions.map(({ message }) => message).join("\n");
      return done({});
    },
  };
  const owner = { kind: "ApplicationSet", name: "set-b0b0b0b0b0b0", uid: "u", controller: true };
  const application = (name: string, own: boolean) => ({
    metadata: { name, annotations: { [TENANT]: tenant ?? "" }, ownerReferences: own ? [owner] : [] },
    spec: {},
  });
  const applications = {
    get: (name: string) => (live[name] === undefined ? undefined : application(name, live[name])),
    all: () => Object.entries(live).map(([name, own]) => application(name, own)),
    seen: () => undefined,
  };
  const deps = {
    home,
    namespace: "outpost",
    world: { clusters: () => [] },
    applications,
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

const END = "-b0b0b0b0b0b0";

test("applications of a tenant's set end as its scope's do: none takes a name that another scope or the account may want", async () => {
  const names = ["web", "web-a1a1a1a1a1a1", `api${END}`, "web-a1a1a1"];
  const { made } = await madeBy("b/-", names);
  expect(made).toEqual([`web${END}`, `web-a1a1a1a1a1a1${END}`, `api${END}`, `web-a1a1a1${END}`]);
  expect((await madeBy(undefined, names)).made).toEqual(names);
});

test("a tenant's set keeps an application that it made under its bare name before, and takes over none of another", async () => {
  expect((await madeBy("b/-", ["web"], { live: { web: true } })).made).toEqual(["web"]);
  expect((await madeBy("b/-", ["web"], { live: { web: false } })).made).toEqual([`web${END}`]);
  // It is no longer in the template: it goes, and comes back under the name of its scope.
  expect((await madeBy("b/-", [], { live: { web: true } })).made).toEqual(["web deleted"]);
});

test("two names that the ending makes one are refused before anything is written", async () => {
  const { made, said } = await madeBy("b/-", ["web", `web${END}`]);
  expect(made).toEqual([]);
  expect(said).toContain(`duplicate name: web${END}`);
});
