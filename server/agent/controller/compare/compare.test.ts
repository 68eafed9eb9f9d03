import type { FieldSet, KubeObject } from "../../../kube/object.ts";
import { covered } from "./compare.ts";

const desired = (rest: object): KubeObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "n", namespace: "ns" },
  ...rest,
});
const live = (rest: object, fieldsV1: FieldSet): KubeObject => ({
  ...desired(rest),
  metadata: {
    ...desired(rest).metadata,
    uid: "u",
    managedFields: [{ manager: "outpost-controller", operation: "Apply", fieldsV1 }],
  },
});
const ports = (n: number, protocol = "TCP"): FieldSet => ({
  [`k:{"containerPort":${n},"protocol":"${protocol}"}`]: { ".": {}, "f:containerPort": {} },
});

const cases: [string, { given: [KubeObject, KubeObject]; want: boolean }][] = [
  [
    "equal fields that we own",
    { given: [desired({ data: { a: "1" } }), live({ data: { a: "1" } }, { "f:data": { "f:a": {} } })], want: true },
  ],
  [
    "a field that another one added is not ours to judge",
    {
      given: [desired({ data: { a: "1" } }), live({ data: { a: "1", b: "2" } }, { "f:data": { "f:a": {} } })],
      want: true,
    },
  ],
  [
    "another value",
    { given: [desired({ data: { a: "1" } }), live({ data: { a: "2" } }, { "f:data": { "f:a": {} } })], want: false },
  ],
  [
    "a map that is owned as one value",
    { given: [desired({ data: { a: "1" } }), live({ data: { a: "1" } }, { "f:data": {} })], want: true },
  ],
  [
    "a field that Git no longer has",
    {
      given: [
        desired({ data: { a: "1" } }),
        live({ data: { a: "1", b: "2" } }, { "f:data": { "f:a": {}, "f:b": {} } }),
      ],
      want: false,
    },
  ],
  [
    "a field that Git has anew",
    {
      given: [desired({ data: { a: "1", b: "2" } }), live({ data: { a: "1", b: "2" } }, { "f:data": { "f:a": {} } })],
      want: false,
    },
  ],
  ["another API version", { given: [{ ...desired({}), apiVersion: "v2" }, live({}, {})], want: false }],
  [
    "a list by key with a default filled in",
    {
      given: [
        desired({ ports: [{ containerPort: 80 }] }),
        live({ ports: [{ containerPort: 80, protocol: "TCP" }] }, { "f:ports": ports(80) }),
      ],
      want: true,
    },
  ],
  [
    "a list by key with one item fewer",
    {
      given: [
        desired({ ports: [{ containerPort: 80 }] }),
        live(
          {
            ports: [
              { containerPort: 80, protocol: "TCP" },
              { containerPort: 81, protocol: "TCP" },
            ],
          },
          { "f:ports": { ...ports(80), ...ports(81) } },
        ),
      ],
      want: false,
    },
  ],
  [
    "a list by key in another order",
    {
      given: [
        desired({ ports: [{ containerPort: 81 }, { containerPort: 80 }] }),
        live(
          {
            ports: [
              { containerPort: 80, protocol: "TCP" },
              { containerPort: 81, protocol: "TCP" },
            ],
          },
          { "f:ports": { ...ports(80), ...ports(81) } },
        ),
      ],
      want: false,
    },
  ],
  [
    "a set",
    {
      given: [
        desired({ finalizers: ["a", "b"] }),
        live({ finalizers: ["a", "x", "b"] }, { "f:finalizers": { ".": {}, 'v:"a"': {}, 'v:"b"': {} } }),
      ],
      want: true,
    },
  ],
  [
    "an atomic list",
    { given: [desired({ command: ["a"] }), live({ command: ["a", "b"] }, { "f:command": {} })], want: false },
  ],
];
test.each(cases)("covered: %s", (_, { given, want }) => {
  expect(covered(...given)).toBe(want);
});
test("without our entry in managedFields nothing can be told", () => {
  const object = desired({ data: { a: "1" } });
  expect(covered(object, object)).toBe(false);
});
