import type { Application } from "../application.ts";
import { waitsFor } from "./dependencies.ts";

const app = (name: string, dependsOn = "", sync = "Synced", health = "Healthy") =>
  ({
    metadata: { name, annotations: { "outpost.dev/depends-on": dependsOn } },
    status: { sync: { status: sync }, health: { status: health } },
  }) as unknown as Application;

test.each<[string, Application[], string | undefined]>([
  ["nothing", [app("a")], undefined],
  ["one that is well", [app("a", "b"), app("b")], undefined],
  ["one that is not there", [app("a", "b")], "DependencyWaiting b (does not exist)"],
  [
    "one that is out of sync",
    [app("a", " b , c"), app("b"), app("c", "", "OutOfSync")],
    "DependencyWaiting c (OutOfSync, Healthy)",
  ],
  [
    "one that is not well",
    [app("a", "b"), app("b", "", "Synced", "Progressing")],
    "DependencyWaiting b (Synced, Progressing)",
  ],
  ["itself", [app("a", "a")], "DependencyCycle a → a"],
  ["one that depends on it", [app("a", "b"), app("b", "c"), app("c", "a")], "DependencyCycle a → b → c → a"],
  ["others that depend on each other", [app("a", "b"), app("b", "c"), app("c", "b")], undefined],
  ["one twice, over two ways", [app("a", "b,c"), app("b", "d"), app("c", "d"), app("d")], undefined],
])("an application that depends on %s", (_name, apps, want) => {
  const got = waitsFor(apps[0]!, apps);
  expect(got && `${got.reason} ${got.message.replace(/^[^:]*: /, "")}`).toBe(want);
});

test("within its scope of the service an application may be named by its id there", () => {
  const marked = (name: string, scope: string, more: Application) => ({
    ...more,
    metadata: {
      ...more.metadata,
      name,
      annotations: { ...more.metadata.annotations, "outpost.dev/id": "base", "outpost.dev/scope": scope },
    },
  });
  const one = marked("above", "acme/-/one", app("above", "base"));
  one.metadata.annotations!["outpost.dev/id"] = "above";
  expect(waitsFor(one, [one, marked("base-1a", "acme/-/one", app("x"))])).toBeUndefined();
  expect(waitsFor(one, [one, marked("base-2b", "acme/-/two", app("x"))])?.message).toMatch(/base \(does not exist\)/);
});

test("what belongs to another tenant is to a tenant as if it were not there", () => {
  const of = (tenant: string | undefined, one: Application) => {
    if (tenant) one.metadata.annotations!["outpost.dev/tenant"] = tenant;
    return one;
  };
  const all = [
    of("a/-", app("shop-a", "mine-b", "OutOfSync", "Degraded")),
    of(undefined, app("top")),
    of("b/-", app("other-b")),
  ];
  const waits = (names: string, tenant?: string) =>
    waitsFor(of(tenant, app("mine-b", names)), all)?.message.replace(/^[^:]*: /, "");
  expect(waits("shop-a,top,other-b", "b/-")).toBe("shop-a (does not exist), top (does not exist)");
  expect(waits("shop-a,top,other-b")).toBe("shop-a (OutOfSync, Degraded)");
});
