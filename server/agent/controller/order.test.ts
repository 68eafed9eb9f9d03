import type { KubeObject } from "../../kube/object.ts";
import type { Application } from "./application.ts";
import type { CompareTarget } from "./compare/normalise.ts";
import { compareTasks, hookName, hookOf, syncOption, waveOf } from "./order.ts";
import { groupTasks, planTasks } from "./tasks.ts";

const object = (
  kind: string,
  name: string,
  annotations: Record<string, string> = {},
  rest: object = {},
): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name, annotations },
  ...rest,
});
const WAVE = "argocd.argoproj.io/sync-wave";
const HOOK = "argocd.argoproj.io/hook";

test.each([
  [{ [WAVE]: "3" }, 3],
  [{ [WAVE]: "+3" }, 3],
  [{ [WAVE]: "-2" }, -2],
  [{ [WAVE]: " 2" }, 0],
  [{ [WAVE]: "1.5" }, 0],
  [{ [WAVE]: "99999999999" }, 99_999_999_999],
  [{ [WAVE]: "" }, 0],
  [{ "helm.sh/hook-weight": "4" }, 4],
  [{ [WAVE]: "1", "helm.sh/hook-weight": "4" }, 1],
  [{}, 0],
])("wave of %j is %i", (annotations, want) => {
  expect(waveOf(object("ConfigMap", "a", annotations))).toBe(want);
});

test.each([
  [{}, undefined],
  [
    { [HOOK]: "PreSync,PostSync" },
    { phases: ["PreSync", "PostSync"], skip: false, deletePolicies: ["BeforeHookCreation"] },
  ],
  [{ [HOOK]: "Skip" }, { phases: [], skip: true, deletePolicies: ["BeforeHookCreation"] }],
  [{ [HOOK]: "Skip,PreSync" }, { phases: ["PreSync"], skip: false, deletePolicies: ["BeforeHookCreation"] }],
  [{ [HOOK]: "Nonsense" }, { phases: [], skip: false, deletePolicies: ["BeforeHookCreation"] }],
  [
    { "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "hook-succeeded" },
    { phases: ["PreSync"], skip: false, deletePolicies: ["HookSucceeded"] },
  ],
  [{ "helm.sh/hook": "test" }, { phases: [], skip: false, deletePolicies: ["BeforeHookCreation"] }],
  [{ "helm.sh/hook": "crd-install" }, undefined],
  [
    { "helm.sh/hook": "pre-install", [HOOK]: "PostSync" },
    { phases: ["PostSync"], skip: false, deletePolicies: ["BeforeHookCreation"] },
  ],
  [
    { "helm.sh/hook": "pre-install", [HOOK]: "Nonsense" },
    { phases: ["PreSync"], skip: false, deletePolicies: ["BeforeHookCreation"] },
  ],
  [
    { "helm.sh/hook": "crd-install,post-install" },
    { phases: ["PreSync", "PostSync"], skip: false, deletePolicies: ["BeforeHookCreation"] },
  ],
  [{ [HOOK]: "" }, { phases: [], skip: false, deletePolicies: ["BeforeHookCreation"] }],
  [{ [HOOK]: "Nonsense,Skip" }, { phases: [], skip: true, deletePolicies: ["BeforeHookCreation"] }],
])("hook of %j", (annotations, want) => {
  expect(hookOf(object("Job", "j", annotations))).toEqual(want && { partings: [], ...want });
});
test("hooks around deletion are named, because this version does not run them", () => {
  expect(hookOf(object("Job", "j", { [HOOK]: "PreDelete" }))?.partings).toEqual(["PreDelete"]);
  expect(hookOf(object("Job", "j", { "helm.sh/hook": "post-delete" }))?.partings).toEqual(["PostDelete"]);
});
test("a hook that is to get a name of its own gets one for each run", () => {
  const nameless = { ...object("Job", ""), metadata: { generateName: "Migrate-" } } as unknown as KubeObject;
  expect(hookName(nameless, "PreSync", "abcdef0123", "2026-01-01T00:00:00Z")).toBe(
    "migrate-abcdef0-presync-1767225600",
  );
});

test("an object's own option beats the application's", () => {
  const own = object("ConfigMap", "a", { "argocd.argoproj.io/sync-options": "Prune=false, Replace=true" });
  expect(syncOption("Prune", own, ["Prune=true"])).toBe("false");
  expect(syncOption("Prune", object("ConfigMap", "b"), ["Prune=true"])).toBe("true");
  expect(syncOption("Validate", own, [])).toBeUndefined();
});

test("phase, then wave, then kind, then name", () => {
  const task = (phase: "PreSync" | "Sync", wave: number, kind: string, name: string) => ({
    phase,
    wave,
    object: object(kind, name),
  });
  const wanted = [
    task("PreSync", 5, "Job", "z"),
    task("Sync", -1, "Deployment", "a"),
    task("Sync", 0, "Namespace", "z"),
    task("Sync", 0, "ConfigMap", "a"),
    task("Sync", 0, "ConfigMap", "b"),
    task("Sync", 0, "Deployment", "a"),
    task("Sync", 0, "Unknown", "a"),
  ];
  expect(wanted.toReversed().sort(compareTasks)).toEqual(wanted);
});

test("kinds without a rank stand by name, whatever their kind", () => {
  const wanted = ["Widget a", "Endpoints b", "PriorityClass c", "Endpoints d"].map((text) => {
    const [kind, name] = text.split(" ") as [string, string];
    return { phase: "Sync" as const, wave: 0, object: object(kind, name) };
  });
  expect(wanted.toReversed().sort(compareTasks)).toEqual(wanted);
});

const app = (syncOptions: string[] = []) =>
  ({ spec: { destination: {}, syncPolicy: { syncOptions } } }) as unknown as Application;
const target = (o: KubeObject): CompareTarget => ({
  key: `/${o.kind}/${o.metadata.namespace ?? ""}/${o.metadata.name}`,
  object: o,
  digest: "",
  wave: waveOf(o),
  hook: hookOf(o),
});
const plan = (targets: KubeObject[], extra: KubeObject[] = [], options: string[] = []) =>
  groupTasks(
    planTasks(
      { app: app(options), own: "", run: { operation: {}, startedAt: "" } },
      targets.map(target),
      extra.map((o) => ({ object: o })),
    ),
  ).map((group) => group.map((t) => `${t.prune ? "-" : ""}${t.object.metadata.name}@${t.wave}`));

test("prune waves are mirrored", () => {
  const extra = [object("ConfigMap", "first", { [WAVE]: "1" }), object("ConfigMap", "last", { [WAVE]: "3" })];
  expect(plan([], extra)).toEqual([["-last@1"], ["-first@3"]]);
});
test("PruneLast comes after the last wave", () => {
  expect(plan([object("ConfigMap", "a", { [WAVE]: "4" })], [object("ConfigMap", "old")], ["PruneLast=true"])).toEqual([
    ["a@4"],
    ["-old@5"],
  ]);
});
test("PruneLast of the application holds for an object that says no to it, and of an object where the application says no", () => {
  const says = (value: boolean) => ({ "argocd.argoproj.io/sync-options": `PruneLast=${value}` });
  const extra = [object("ConfigMap", "yes", says(true)), object("ConfigMap", "no", says(false))];
  const wanted = [object("ConfigMap", "a", { [WAVE]: "4" })];
  expect(plan(wanted, extra, ["PruneLast=true"])).toEqual([["a@4"], ["-no@5", "-yes@5"]]);
  expect(plan(wanted, extra, ["PruneLast=false"])).toEqual([["-no@0"], ["a@4"], ["-yes@5"]]);
});
test("a definition is lifted in front of what needs it", () => {
  const crd = object(
    "CustomResourceDefinition",
    "crd",
    { [WAVE]: "3" },
    { spec: { group: "x.io", names: { kind: "X" } } },
  );
  const custom = { ...object("X", "x", { [WAVE]: "-1" }), apiVersion: "x.io/v1" };
  expect(plan([crd, custom])).toEqual([["crd@-1", "x@-1"]]);
});
