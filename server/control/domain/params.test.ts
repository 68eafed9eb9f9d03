import { checkParams } from "./params.ts";
import type { Problem } from "./problem.ts";

type Kind = Parameters<typeof checkParams>[0];
const files = { files: { "a.txt": "a" } };
const git = { git: { url: "https://h/r" } };
const artifact = { task: `t-${"0".repeat(20)}`, name: "a.tgz" };
const provider = { type: "gitea", repository: "o/r", token: "${secret:env/TOKEN}" };
const vault = "${secret:prod-vault/kv/app#password}";

/** Pointer of the field at fault; undefined when the parameters are fine. */
function faultOf(kind: Kind, params: Record<string, unknown>): string | undefined {
  try {
    checkParams(kind, params);
    return undefined;
  } catch (error) {
    return (error as Problem).details.pointer;
  }
}

test.each<[Kind, Record<string, unknown>, string | undefined]>([
  ["shell.run", { script: "true" }, undefined],
  ["shell.run", {}, "/params/script"],
  ["shell.run", { script: "true", more: 1 }, "/params/more"],
  ["shell.run", { script: "echo ${secret:env/X}" }, "/params/script"],
  ["powershell.run", { script: "echo ${secret:env/X}" }, "/params/script"],
  ["shell.run", { script: "true", env: { A: vault, B: `x ${vault} y` } }, undefined],
  ["shell.run", { script: "true", env: { A: "${secret:env/X" } }, "/params/env/A"],
  ["shell.run", { script: "true", env: { A: "${secret:}" } }, "/params/env/A"],
  ["shell.run", { script: "true", env: { "${secret:env/X}": "a" } }, "/params/env/${secret:env~1X}"],
  ["shell.run", { script: "true", source: { files: { "a.txt": vault } } }, undefined],
  ["shell.run", { script: "true", source: { ...git, ...files } }, "/params/source"],
  ["git.clone", { url: "https://h/${secret:env/X}" }, "/params/url"],
  ["git.clone", { url: "https://h/r", password: vault }, undefined],
  ["http.request", { url: "https://h", headers: { authorization: vault } }, undefined],
  ["http.request", { url: "https://h", body: "x" }, "/params/body"],
  ["http.request", { url: "https://h", method: "POST", body: vault }, undefined],
  ["http.request", { url: "https://h", password: "x" }, "/params/username"],
  ["http.request", { url: "https://h", bearer: "x", username: "u", password: "x" }, "/params/bearer"],
  ["image.push", { to: ["r/i:1"] }, "/params/artifact"],
  ["image.push", { to: ["r/i:1"], artifact, from: "r/i:0" }, "/params/from"],
  [
    "image.push",
    { to: ["r/i:1"], artifact, registries: [{ registry: "r", username: "u" }] },
    "/params/registries/0/password",
  ],
  ["kubernetes.apply", {}, "/params/manifests"],
  ["kubernetes.apply", { manifests: "a", source: git }, "/params/source"],
  ["kubernetes.apply", { manifests: "a", cluster: { token: vault } }, "/params/cluster/server"],
  ["kubernetes.rollout", { kind: "Deployment", name: "a", action: "restart", toRevision: 1 }, "/params/toRevision"],
  ["helm.upgrade", { release: "a", chart: {} }, "/params/chart/source"],
  ["helm.upgrade", { release: "a", chart: { repository: "https://h" } }, "/params/chart/name"],
  ["helm.upgrade", { release: "a", chart: { oci: "oci://h/c", name: "c" } }, "/params/chart/name"],
  ["terraform.apply", {}, "/params/plan"],
  ["terraform.apply", { plan: artifact }, undefined],
  ["terraform.apply", { source: git, variables: { a: { b: [vault] } } }, undefined],
  ["terraform.plan", { source: git, policy: {} }, "/params/policy"],
  ["artifact.upload", { url: "https://h", layout: "maven", artifact }, "/params/maven"],
  ["artifact.upload", { url: "https://h", layout: "raw" }, "/params/artifact"],
  ["gitops.updateReleaseRepo", { provider, baseBranch: "main", files: [{ path: "a" }] }, "/params/files/0/set"],
  ["gitops.revertPR", { provider }, "/params/number"],
  ["gitops.revertPR", { provider, number: 1 }, undefined],
])("%s %j", (kind, params, want) => expect(faultOf(kind, params)).toBe(want));
