import { clusterWorld, type WorldOptions, withheld } from "./cluster-world.ts";

const secret = (name: string, labels: Record<string, string> = {}, type = "Opaque") => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, labels },
  type,
});
const TYPE = "argocd.argoproj.io/secret-type";

test.each([
  ["a Secret of its own", secret("host")],
  ["one that is marked as such", secret("host", { [TYPE]: "scm-creds" })],
  ["Argo CD's own, where tokens of plugins are", secret("argocd-secret", { "app.kubernetes.io/part-of": "argocd" })],
])("a set may send %s", (_, one) => {
  expect(withheld(one)).toBeUndefined();
});

test.each([
  ["a repository's credentials", secret("repo-a", { [TYPE]: "repository", "outpost.dev/managed": "true" })],
  ["a template's credentials", secret("theirs", { [TYPE]: "repo-creds" })],
  ["a cluster's credentials", secret("theirs", { [TYPE]: "cluster" })],
  ["the agent's identity", secret("outpost-agent-identity")],
  ["the agent's password for its cache", secret("outpost-agent-internal")],
  ["an account's token", secret("sa", {}, "kubernetes.io/service-account-token")],
  ["a release of Helm with its values", secret("sh.helm.release.v1.a.v1", {}, "helm.sh/release.v1")],
])("a set may not send %s", (_, one) => {
  expect(withheld(one)).toMatch(/is not sent to a host/);
});

test("a cluster's annotations are parameters, but not the copy of its Secret that kubectl keeps there", () => {
  const annotations = { region: "eu", "kubectl.kubernetes.io/last-applied-configuration": '{"data":{"config":"canary"}}' };
  const one = { ...secret("cluster-a"), metadata: { name: "cluster-a", annotations } };
  const { clusters } = clusterWorld({ clusters: () => [one] } as unknown as WorldOptions);
  expect(clusters()[0]!.annotations).toEqual({ region: "eu" });
});
