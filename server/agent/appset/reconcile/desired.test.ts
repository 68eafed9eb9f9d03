import { within } from "../../../../test/within.ts";
import { TENANT } from "../../project/tenant.ts";
import type { ApplicationSet, Generated } from "../types.ts";
import type { LiveApplication } from "./application.ts";
import { clashOf, marked, newApplication, updated } from "./desired.ts";

const set = (tenant?: string, spec: object = {}): ApplicationSet =>
  ({
    metadata: { name: "set", namespace: "ns", uid: "s", annotations: tenant ? { [TENANT]: tenant } : {} },
    spec,
  }) as ApplicationSet;
const generated = {
  metadata: { name: "app", annotations: { [TENANT]: "a/-", note: "n" } },
  spec: { project: "p" },
} as unknown as Generated;
const live = (tenant?: string, owned = true): LiveApplication => {
  const made = newApplication(set(tenant), generated);
  return owned ? made : { ...made, metadata: { ...made.metadata, ownerReferences: [] } };
};
const tenantIn = ({ metadata }: LiveApplication) => metadata.annotations?.[TENANT];

test.each([undefined, "b/-"])(
  "an application has the tenant of its set, %s, whatever the template, the set's rules or the cluster say",
  (tenant) => {
    expect(tenantIn(newApplication(set(tenant), generated))).toBe(tenant);
    const rules = {
      preservedFields: { annotations: [TENANT] },
      ignoreApplicationDifferences: [{ jsonPointers: ["/metadata/annotations"] }],
    };
    for (const before of [undefined, "a/-", "b/-"]) {
      const held: LiveApplication = {
        ...live(tenant),
        metadata: {
          ...live(tenant).metadata,
          annotations: (before ? { [TENANT]: before } : {}) as Record<string, string>,
        },
      };
      expect(tenantIn(updated(set(tenant, rules), generated, held))).toBe(tenant);
      expect(tenantIn(marked(set(tenant), held))).toBe(tenant);
    }
  },
);

test("a set takes over no application of another tenant, nor of the agent's own scope, that lost its set", () => {
  expect(clashOf(set("b/-"), generated, live("b/-", false))).toBeUndefined();
  expect(clashOf(set("b/-"), generated, live(undefined, false))).toMatch(/belongs to another tenant/);
  expect(clashOf(set("b/-"), generated, live("a/-", false))).toMatch(/belongs to another tenant/);
  expect(clashOf(set(), generated, live("a/-", false))).toMatch(/belongs to another tenant/);
});

test.each<[asking: string | undefined, tenant: string | undefined, isTold: boolean]>([
  [undefined, "a/-", true],
  [undefined, undefined, true],
  ["a/-", "a/-", true],
  ["a/-", "a/web", true],
  ["a/web", "a/-", false],
  ["b/-", "a/-", false],
  ["b/-", undefined, false],
])("a set of %s is told which set has an application of %s: %s", (asking, tenant, isTold) => {
  const other = set(tenant);
  const theirs = newApplication({ ...other, metadata: { ...other.metadata, name: "secret", uid: "o" } }, generated);
  expect(clashOf(set(asking), generated, theirs)).toMatch(isTold ? /ApplicationSet secret/ : /another tenant/);
});

test("an expression that takes too long is tried once, not with every application of the set", () => {
  const rules = { ignoreApplicationDifferences: [{ jqPathExpressions: ["[..|..|..|..|..|..|..]"] }] };
  const wide = {
    ...generated,
    spec: { project: "p", list: Array.from({ length: 300 }, (_, i) => ({ i })) },
  } as Generated;
  const begun = performance.now();
  for (let i = 0; i < 300; i++) updated(set("b/-", rules), wide, newApplication(set("b/-"), wide));
  expect(performance.now() - begun).toBeLessThan(within(5_000));
});

test("several ignored items of a list leave the others as the template has them", () => {
  const rules = {
    ignoreApplicationDifferences: [
      { jqPathExpressions: ['.spec.syncPolicy.syncOptions[] | select(startswith("Local"))'] },
    ],
  };
  const options = (...syncOptions: string[]) => ({ project: "p", syncPolicy: { syncOptions } });
  const wanted = { ...generated, spec: options("Local1=x", "Local2=x", "Prune=false") } as unknown as Generated;
  const held = { ...live(), spec: options() };
  const next = updated(set(undefined, rules), wanted, held);
  expect(next.spec).toEqual(options("Prune=false"));
});
