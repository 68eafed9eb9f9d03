import type { KubeObject } from "../../../kube/object.ts";
import { TENANT } from "../../project/tenant.ts";
import type { Application } from "../application.ts";
import { Claims } from "../cluster/claims.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import type { Destination } from "../destination.ts";
import { BY_ANNOTATION, mark } from "../tracking.ts";
import { leftToOther, otherOwner, partOfBoth, partOfOther } from "./other-owner.ts";

const app = (name: string, tenant?: string) =>
  ({ metadata: { name, ...(tenant ? { annotations: { [TENANT]: tenant } } : {}) } }) as unknown as Application;
const object: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one", namespace: "shop" } };

const known = (...apps: Application[]) => ({
  own: "argocd",
  application: (name: string) => apps.find(({ metadata }) => metadata.name === name),
});
const MINE = "ConfigMap shop/one is part of";

test.each<[why: string, mine: string | undefined, owner: string | undefined, isNamed: boolean]>([
  ["the agent's own scope knows all", undefined, "a/-", true],
  ["the agent's own scope knows its own", undefined, undefined, true],
  ["a tenant knows its own", "a/-", "a/-", true],
  ["an organization knows its projects", "a/-", "a/web", true],
  ["a project does not know its organization's", "a/web", "a/-", false],
  ["a project does not know another project's", "a/web", "a/api", false],
  ["a tenant does not know another's", "b/-", "a/-", false],
  ["a tenant does not know the agent's own", "b/-", undefined, false],
])("which application has an object: %s", (_, mine, owner, isNamed) => {
  const pair = { app: app("mine", mine), other: "till" };
  const all = known(app("till", owner));
  const told = [partOfBoth, partOfOther, leftToOther].map((say) => say(all, object, pair));
  expect(told).toEqual(
    isNamed
      ? [
          `${MINE} applications mine and till`,
          `${MINE} application till`,
          `${MINE} application till; it is left to that one`,
        ]
      : [
          `${MINE} application mine and of another one`,
          `${MINE} another application`,
          `${MINE} another application; it is left to that one`,
        ],
  );
});

test("a tenant is not told of an application that nobody knows, as one of another agent", () => {
  const pair = { app: app("mine", "a/-"), other: "till" };
  expect(partOfOther(known(), object, pair)).toBe(`${MINE} another application`);
  expect(partOfOther({ own: "argocd" }, object, pair)).toBe(`${MINE} another application`);
});

describe("a hook that is there, when nobody has claimed it yet", () => {
  const hook = (): KubeObject => {
    const made = { ...object, metadata: { ...object.metadata, annotations: { "argocd.argoproj.io/hook": "PreSync" } } };
    mark(made, "till", "shop", BY_ANNOTATION);
    return made;
  };
  const ownerOfHook = (mine: Application, ...apps: Application[]) => {
    const here = hook();
    const destination = {
      ...known(mine, ...apps),
      live: { find: () => here },
      claims: new Claims(),
      settings: { tracking: BY_ANNOTATION },
    } as unknown as Destination;
    return otherOwner(destination, { key: "/ConfigMap/shop/one", object } as CompareTarget, mine);
  };
  test.each<[why: string, mine: Application, others: Application[], want: string | undefined]>([
    ["is its application's", app("till", "a/-"), [], undefined],
    ["is not another tenant's", app("mine", "b/-"), [app("till", "a/-")], "till"],
    ["is not a tenant's when the agent's own scope made it", app("mine", "b/-"), [app("till")], "till"],
    ["is not the agent's own scope's when a tenant made it", app("mine"), [app("till", "a/-")], "till"],
    ["may be another application's of the scope", app("mine", "a/-"), [app("till", "a/-")], undefined],
    ["may be another application's of the agent's own scope", app("mine"), [app("till")], undefined],
    ["may be anybody's when its application is gone", app("mine", "b/-"), [], undefined],
  ])("%s", (_, mine, others, want) => expect(ownerOfHook(mine, ...others)).toBe(want));
});
