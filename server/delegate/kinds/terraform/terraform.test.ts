import { readFileSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { jest } from "@jest/globals";
import type { Schemas } from "../../../../openapi/client.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { startCluster, type TestCluster } from "../../testing/cluster.ts";
import type { KindRun } from "../../testing/kind.ts";
import { temporaryFolder } from "../../testing/temporary.ts";
import { terraformApply } from "./terraform-apply.ts";
import { terraformDestroy } from "./terraform-destroy.ts";
import { terraformPlan } from "./terraform-plan.ts";

/** The real Terraform, with states in files and, for locks, in a real API server. */
const dir = temporaryFolder();
jest.setTimeout(120_000);
let c: TestCluster;
let count = 0;

beforeAll(async () => {
  c = await startCluster(dir);
}, 90_000);
afterAll(() => c?.stop());

const SECRET = "sentinel-of-a-sensitive-value";
const BACKEND = 'terraform {\n  backend "local" {}\n}\n';
const main = `${BACKEND}
variable "name" { type = string }
variable "password" {
  type      = string
  sensitive = true
  default   = "default-of-a-password"
}
variable "list" {
  type    = list(object({ n = number }))
  default = []
}
resource "terraform_data" "one" { input = var.name }
resource "terraform_data" "two" { input = { password = var.password, list = var.list } }
output "name" { value = terraform_data.one.output }
output "password" {
  value     = var.password
  sensitive = true
}
`;
type Plan = Schemas["TaskParamsTerraformPlan"];
type Apply = Schemas["TaskParamsTerraformApply"];
const state = () => ({ path: join(dir, `state-${count++}.tfstate`) });
const variables = { name: "first", password: SECRET, list: [{ n: 1 }] };
const source = (text = main) => ({ files: { "main.tf": text } });
const id = () => `t-${String(count++).padStart(20, "b")}`;
const plan = async (params: Partial<Plan>, task = id()) => ({
  ...(await c.bench.run(terraformPlan, { source: source(), variables, ...params } as Plan, { id: task })),
  task,
});
const apply = (params: Partial<Apply>) => c.bench.run(terraformApply, params as Apply);
const destroy = (params: Partial<Schemas["TaskParamsTerraformDestroy"]>) =>
  c.bench.run(terraformDestroy, { source: source(), variables, ...params } as Schemas["TaskParamsTerraformDestroy"]);
const end = ({ outcome, reason, message }: KindRun) => [outcome, reason, message];
const GOOD = ["succeeded", undefined, undefined];

test("a plan is applied as it was made, by its artefact alone, and once", async () => {
  const backendConfig = state();
  const planned = await plan({ backendConfig });
  expect([end(planned), planned.outputs]).toEqual([GOOD, { create: 2, update: 0, delete: 0, hasChanges: true }]);
  expect(planned.log).toContain("Plan: 2 to add, 0 to change, 0 to destroy.");
  expect(planned.log).toContainEqual(expect.stringMatching(/plan\.tgz; it may hold sensitive values/));
  const artefact = { task: planned.task, name: "plan.tgz" };
  const applied = await apply({ plan: artefact, backendConfig });
  expect([end(applied), applied.outputs]).toEqual([
    GOOD,
    { create: 2, update: 0, delete: 0, outputs: { name: "first" } },
  ]);
  expect(applied.log).toContain("Apply complete! Resources: 2 added, 0 changed, 0 destroyed.");
  const again = await apply({ plan: artefact, backendConfig });
  expect(end(again)).toEqual(["failed", "PlanStale", expect.stringMatching(/stale.*plan again/i)]);
  expect((await plan({ backendConfig })).outputs).toEqual({ create: 0, update: 0, delete: 0, hasChanges: false });
  const changed = await apply({ source: source(), variables: { ...variables, name: "second" }, backendConfig });
  expect(changed.outputs).toEqual({ create: 0, update: 1, delete: 0, outputs: { name: "second" } });
  const destroyed = await destroy({ backendConfig });
  expect([end(destroyed), destroyed.outputs]).toEqual([GOOD, { delete: 2 }]);
});

test("sensitive values are in no log, no output and not in plan.json; plan.tgz has no copy of the variables", async () => {
  const backendConfig = state();
  const planned = await plan({ backendConfig });
  const text = readFileSync(c.bench.artifact({ task: planned.task, name: "plan.json" }), "utf8");
  const json = JSON.parse(text);
  expect(text).not.toMatch(/sentinel-of-a-sensitive-value|default-of-a-password/);
  expect(json.variables).toMatchObject({ name: { value: "first" }, password: { value: "(sensitive value)" } });
  expect(json.resource_changes[1].change.after.input).toEqual({ password: "(sensitive value)", list: [{ n: 1 }] });
  const applied = await apply({ plan: { task: planned.task, name: "plan.tgz" }, backendConfig });
  expect(JSON.stringify([planned.log, planned.outputs, applied.log, applied.outputs])).not.toContain(SECRET);
  const packed = gunzipSync(readFileSync(c.bench.artifact({ task: planned.task, name: "plan.tgz" }))).toString(
    "latin1",
  );
  expect(packed).not.toContain(SECRET);
});

test("a policy ends a plan before it is kept, and an apply or a destroy before anything is changed", async () => {
  const backendConfig = state();
  const policy = {
    maxDelete: 0,
    deny: [{ types: ["terraform_*"], actions: ["create" as const], message: "not on Fridays" }],
  };
  const denied = await plan({ backendConfig, policy });
  expect(end(denied)).toEqual([
    "failed",
    "PolicyDenied",
    "nothing was changed: terraform_data.one (create), terraform_data.two (create) is denied: not on Fridays",
  ]);
  expect(await readdir(join(dir, "kept", denied.task))).toEqual(["plan.json"]);
  expect(end(await apply({ source: source(), variables, backendConfig, policy }))[1]).toBe("PolicyDenied");
  const open = await plan({ backendConfig });
  expect(end(await apply({ plan: { task: open.task, name: "plan.tgz" }, backendConfig, policy }))[1]).toBe(
    "PolicyDenied",
  );
  expect(end(await apply({ plan: { task: open.task, name: "plan.tgz" }, backendConfig }))).toEqual(GOOD);
  expect(end(await destroy({ backendConfig, policy }))).toEqual([
    "failed",
    "PolicyDenied",
    expect.stringMatching(/2 would be deleted or replaced, at most 0/),
  ]);
  expect((await plan({ backendConfig })).outputs).toMatchObject({ hasChanges: false });
});

test("workspaces and targets are kept apart", async () => {
  const backendConfig = { workspace_dir: join(dir, `workspaces-${count}`), ...state() };
  const one = await plan({ backendConfig, workspace: "blue", targets: ["terraform_data.one"] });
  expect(one.outputs).toMatchObject({ create: 1 });
  expect(end(await apply({ plan: { task: one.task, name: "plan.tgz" }, backendConfig }))).toEqual(GOOD);
  expect((await plan({ backendConfig, workspace: "blue" })).outputs).toMatchObject({ create: 1 });
  expect((await plan({ backendConfig, workspace: "green" })).outputs).toMatchObject({ create: 2 });
});

const failures: [string, { given: Partial<Plan>; reason: string; says: RegExp }][] = [
  [
    "a fault in the configuration, by file and line",
    {
      given: { source: source(`${main}\nresource "terraform_data" "x" {\n  nothing = 1\n}\n`) },
      reason: "PlanFailed",
      says: /main\.tf:\d+: .*Unsupported argument/,
    },
  ],
  [
    "a fault in the syntax, by file and line",
    { given: { source: source('resource "a" {') }, reason: "InitFailed", says: /main\.tf:1: / },
  ],
  [
    "a variable that is missing",
    { given: { variables: {} }, reason: "VariablesInvalid", says: /"name".*give it in \/params\/variables/ },
  ],
  [
    "a variable of another type",
    { given: { variables: { name: "x", list: "no list" } }, reason: "VariablesInvalid", says: /list/ },
  ],
  [
    "a provider that cannot be had",
    {
      given: { source: source('terraform {\n required_providers {\n x = { source = "127.0.0.1:1/a/b" }\n }\n}\n') },
      reason: "ProviderUnavailable",
      says: /TF_CLI_CONFIG_FILE/,
    },
  ],
  [
    "a variable that would change the delegate's command",
    {
      given: { env: { TF_CLI_ARGS_plan: "-destroy" } },
      reason: "ParamsInvalid",
      says: /TF_CLI_ARGS_plan is the delegate's/,
    },
  ],
  ["a folder that is not there", { given: { path: "nowhere" }, reason: "PathNotFound", says: /\/params\/path: / }],
];
test.each(failures)("refuses %s", async (_name, { given, reason, says }) => {
  expect(end(await plan({ backendConfig: state(), ...given }))).toEqual([
    "failed",
    reason,
    expect.stringMatching(says),
  ]);
});

test("nothing is made whose state would be lost", async () => {
  const lost = source('resource "terraform_data" "x" {}\n');
  const planned = await plan({ source: lost, variables: {} });
  expect([end(planned), planned.log]).toEqual([
    GOOD,
    expect.arrayContaining([expect.stringMatching(/no backend that outlives the task/)]),
  ]);
  for (const ran of [
    await apply({ source: lost }),
    await apply({ plan: { task: planned.task, name: "plan.tgz" } }),
    await destroy({ source: lost, variables: {} }),
  ])
    expect(end(ran)).toEqual(["failed", "StateNotKept", expect.stringMatching(/give it a backend/)]);
});

test("a resource that fails says where, and what was made before stays known", async () => {
  const failing = source(
    `${BACKEND}resource "terraform_data" "ok" {}\nresource "terraform_data" "bad" {\n  depends_on = [terraform_data.ok]\n  provisioner "local-exec" { command = "echo about to fail; exit 3" }\n}\n`,
  );
  const backendConfig = state();
  const ran = await apply({ source: failing, backendConfig });
  expect(end(ran)).toEqual([
    "failed",
    "ApplyFailed",
    expect.stringMatching(/main\.tf:7: .*local-exec provisioner error.*exit status 3/),
  ]);
  expect((await plan({ source: failing, variables: {}, backendConfig })).outputs).toMatchObject({
    create: 1,
    delete: 1,
  });
});

test("a lock of somebody else is named: who, since when, for what", async () => {
  const file = join(dir, "backend.kubeconfig");
  writeFileSync(file, c.access.kubeconfig!, { mode: 0o600 });
  const backendConfig = { secret_suffix: "locked", namespace: "default", config_path: file };
  const text = {
    files: { "main.tf": 'terraform {\n  backend "kubernetes" {}\n}\nresource "terraform_data" "x" {}\n' },
  };
  expect(end(await apply({ source: text, backendConfig }))).toEqual(GOOD);
  const secret = await c.get(RESOURCES.secret, "tfstate-default-locked");
  expect(secret).toBeDefined();
  const info = {
    ID: "11111111-2222-3333-4444-555555555555",
    Operation: "OperationTypeApply",
    Who: "jane@laptop",
    Version: "1.11.4",
    Created: "2026-01-02T03:04:05Z",
    Info: "",
    Path: "",
  };
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "lock-tfstate-default-locked", namespace: "default" },
  };
  await c.client.mergePatch(RESOURCES.lease, "default", lease.metadata.name, {
    metadata: { annotations: { "app.terraform.io/lock-info": JSON.stringify(info) } },
    spec: { holderIdentity: info.ID },
  });
  const ran = await apply({ source: text, backendConfig, lockTimeoutSeconds: 0 });
  expect(end(ran)).toEqual([
    "failed",
    "LockHeld",
    expect.stringMatching(
      /locked by jane@laptop since 2026-01-02 03:04:05.* for OperationTypeApply \(lock 11111111-.*force-unlock 11111111-/,
    ),
  ]);
});

test("what is missing is said with the way to get it", async () => {
  expect(await terraformPlan.lacks({ PATH: "/nonexistent" })).toMatch(
    /^terraform is not installed: install Terraform 1\.4 or newer/,
  );
  expect(await terraformPlan.lacks({ PATH: process.env.PATH })).toBeUndefined();
});
