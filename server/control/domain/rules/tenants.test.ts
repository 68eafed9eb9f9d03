import { clusterIdFaults } from "./cluster.ts";
import { tenantFaults } from "./tenants.ts";

const account = { account: "acme", org: "", project: "" };
const org = { ...account, org: "a" };
const project = { ...org, project: "shop" };
const HOME = { server: "https://kubernetes.default.svc:443/" };

test.each([
  ["clusters", account, account, HOME, undefined],
  ["clusters", account, org, HOME, "/spec/server"],
  ["clusters", account, project, HOME, "/spec/server"],
  ["clusters", org, project, HOME, "/spec/server"],
  ["clusters", org, org, HOME, undefined],
  ["clusters", account, org, { server: "https://k.example" }, undefined],
  ["clusters", account, org, { server: "https://k.example", awsAuth: { clusterName: "c" } }, "/spec/awsAuth"],
  ["clusters", account, org, { server: "https://k.example", exec: { command: "c" } }, "/spec/exec"],
  ["clusters", org, org, { server: "https://k.example", exec: { command: "c" } }, undefined],
  ["repositories", account, org, { useAzureWorkloadIdentity: true }, "/spec/useAzureWorkloadIdentity"],
  ["repositories", account, org, { useAzureWorkloadIdentity: false }, undefined],
  ["repositorycredentials", org, project, { useAzureWorkloadIdentity: true }, "/spec/useAzureWorkloadIdentity"],
  ["repositories", account, account, { useAzureWorkloadIdentity: true }, undefined],
] as const)("%s with an agent of %j in scope %j: %j", (collection, agent, scope, spec, pointer) => {
  expect(tenantFaults(collection, agent, scope, spec)[0]?.pointer).toBe(pointer);
});

test("the name of the agent's own cluster is reserved", () => {
  expect(clusterIdFaults("in-cluster")).toEqual([
    { pointer: "/id", detail: expect.stringContaining("choose another id") },
  ]);
  expect(clusterIdFaults("in-cluster-2")).toEqual([]);
});
