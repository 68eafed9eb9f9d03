import { failureOf, KUBE } from "./errors.ts";

const status = (message: string, details?: object, reason?: string) =>
  JSON.stringify({ kind: "Status", message, reason, details });
const cases: [string, { given: [number, string]; want: object }][] = [
  ["credentials", { given: [401, status("Unauthorized")], want: { kind: "again", reason: KUBE.unauthorized } }],
  [
    "rights",
    {
      given: [403, status("secrets is forbidden", {})],
      want: { kind: "stop", reason: KUBE.forbidden, message: "secrets is forbidden" },
    },
  ],
  [
    "a namespace that ends",
    {
      given: [403, status("x", { causes: [{ reason: "NamespaceTerminating" }] })],
      want: { kind: "again", reason: KUBE.namespaceTerminating },
    },
  ],
  [
    "a missing object",
    {
      given: [404, status('configmaps "a" not found', { name: "a", kind: "configmaps" })],
      want: { kind: "stop", reason: KUBE.notFound },
    },
  ],
  [
    "a missing namespace",
    {
      given: [404, status('namespaces "n" not found', { name: "n", kind: "namespaces" })],
      want: { kind: "stop", reason: KUBE.namespaceNotFound },
    },
  ],
  ["a missing kind", { given: [404, "404 page not found"], want: { kind: "stop", reason: KUBE.kindNotFound } }],
  [
    "a missing resource of a group",
    {
      given: [404, status("the server could not find the requested resource", {})],
      want: { kind: "stop", reason: KUBE.kindNotFound },
    },
  ],
  ["a conflict", { given: [409, status("modified", {}, "Conflict")], want: { kind: "again", reason: KUBE.conflict } }],
  [
    "a name that is taken",
    { given: [409, status("exists", {}, "AlreadyExists")], want: { kind: "stop", reason: KUBE.alreadyExists } },
  ],
  ["a version that is too old", { given: [410, status("too old")], want: { kind: "again", reason: KUBE.gone } }],
  [
    "an invalid object",
    { given: [422, status("Deployment is invalid")], want: { kind: "stop", reason: KUBE.invalid } },
  ],
  ["too many requests", { given: [429, "slow down"], want: { kind: "again", reason: KUBE.rateLimited } }],
  [
    "an object that etcd does not take",
    { given: [500, status("etcdserver: request is too large")], want: { kind: "stop", reason: KUBE.tooLarge } },
  ],
  [
    "a proxy's page",
    {
      given: [502, "<html>"],
      want: { kind: "again", reason: KUBE.unavailable, message: "the API server answered 502" },
    },
  ],
];
test.each(cases)("%s", (_, { given, want }) => {
  expect(failureOf(...given)).toMatchObject(want);
});
test.each([
  'Secret "s" is invalid: data[a]: Invalid value: "canary": not base64; in [{"data":{"a":"canary"}}]',
  'Secret "s" is invalid: data: Invalid value: []string{"canary"}: x',
  'Secret "s" is invalid: data: Invalid value: {"a":"b: canary"}: x',
  'failed to create typed patch object (n/s; /v1, Kind=Secret): .data.a: expected string, got &value.valueUnstructured{Value:"canary"}',
  "failed to create typed patch object (n/s; /v1, Kind=Secret): errors:\n  .data: expected map, got &{[canary\ncanary]}\n  .type: expected string, got &{canary}",
])("what a Secret holds is not told when the server refuses it: %s", (message) => {
  expect(JSON.stringify(failureOf(422, status(message)))).not.toContain("canary");
});
