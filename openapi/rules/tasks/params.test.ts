import * as validators from "../../contract/validators.js";
import { paramFaults, shapeFaults } from "./params.ts";

type Check = (value: unknown) => boolean;
const check = (kind: string): Check => {
  const name = kind.split(".").map((part) => part.charAt(0).toUpperCase() + part.slice(1));
  return (validators as unknown as Record<string, Check>)[`validateTaskParams${name.join("")}`]!;
};
const git = { git: { url: "https://h/r" } };
const artifact = { task: `t-${"0".repeat(20)}`, name: "a.tgz" };
const provider = { type: "gitea", repository: "o/r", token: "x" };
const RIGHT: [string, Record<string, unknown>][] = [
  ["shell.run", { script: "true", env: { A: "" }, source: git }],
  ["git.clone", { url: "https://h/r", revision: "v1" }],
  ["image.push", { to: ["r/i:1"], artifact, registries: [{ registry: "r", username: "u", password: "p" }] }],
  ["kubernetes.rollout", { kind: "Deployment", name: "a", action: "undo", toRevision: 1 }],
  [
    "helm.upgrade",
    { release: "a", chart: { repository: "https://h", name: "c", version: "1" }, set: { "image.tag": "1" } },
  ],
  ["terraform.plan", { source: git, variables: { a: { b: [1, null] } }, targets: ["module.a"] }],
  ["terraform.apply", { plan: artifact }],
  ["artifact.upload", { url: "https://h", layout: "raw", artifact }],
  ["http.request", { url: "https://h", headers: { "x-a": "b" } }],
  ["gitops.revertPR", { provider, number: 1 }],
  ["gitops.updateReleaseRepo", { provider, baseBranch: "main", files: [{ path: "a", content: "" }] }],
];
/** What a field may be changed to; many of them do not fit it. */
const OTHERS: readonly unknown[] = [
  "",
  "x",
  "a b",
  "../a",
  -1,
  0,
  1.5,
  1e9,
  true,
  null,
  [],
  ["a"],
  {},
  { a: "b" },
  "https://h",
  "x".repeat(3_000),
];

/** A value with each of its members, at every depth, changed in each way, left out, and joined by one that there is not. */
function* variants(value: unknown): Generator<unknown> {
  if (typeof value !== "object" || value === null) return;
  const put = (name: string, one: unknown): unknown =>
    Array.isArray(value) ? value.map((before, i) => (String(i) === name ? one : before)) : { ...value, [name]: one };
  for (const [name, member] of Object.entries(value)) {
    for (const other of OTHERS) yield put(name, other);
    if (!Array.isArray(value)) yield Object.fromEntries(Object.entries(value).filter(([one]) => one !== name));
    for (const inner of variants(member)) yield put(name, inner);
  }
  if (!Array.isArray(value)) yield { ...value, somethingElse: 1 };
}

test.each(RIGHT)("%s: the rules in words refuse exactly what the contract's schema refuses", (kind, params) => {
  const fits = check(kind);
  expect(paramFaults(kind, params)).toEqual([]);
  const differ = [...variants(params)].filter((one) => fits(one) !== (shapeFaults(kind, one).length === 0));
  expect(differ).toEqual([]);
});

test.each([
  ["kubernetes.apply", {}, ["/manifests"]],
  ["kubernetes.apply", { manifests: "a: 1", source: git }, ["/source"]],
  ["kubernetes.apply", { manifests: "a: 1", cluster: { token: "t" } }, ["/cluster/server"]],
  ["helm.upgrade", { release: "a", chart: { name: "c" } }, ["/chart/source", "/chart/name"]],
  ["http.request", { url: "https://h", body: "x" }, ["/body"]],
  ["http.request", { url: "https://h", body: "x", method: "POST" }, []],
  ["terraform.apply", { plan: artifact, source: git }, ["/source"]],
  ["kubernetes.rollout", { kind: "Deployment", name: "a", action: "restart", toRevision: 1 }, ["/toRevision"]],
  ["gitops.revertPR", { provider }, ["/number"]],
  ["gitops.updateReleaseRepo", { provider, baseBranch: "main", files: [{ path: "a" }] }, ["/files/0/set"]],
])("fields of %s that do not go together are refused: %j", (kind, params, want) => {
  expect(paramFaults(kind, params).map(({ pointer }) => pointer)).toEqual(want);
});

test("a pipeline's expression in the place of an object is passed over", () => {
  const later = (text: string) => text.includes("<+");
  expect(paramFaults("kubernetes.apply", { manifests: "a: 1", cluster: "<+inputs.cluster>" }, later)).toEqual([]);
});
