import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { person } from "../testing.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "outpost-offline-"));
});
afterEach(() => rm(dir, { recursive: true }));
const file = async (name: string, text: string) => {
  await writeFile(join(dir, name), text);
  return join(dir, name);
};

const objects = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {paused: true}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
- {apiVersion: example.com/v1, kind: Toy, spec: {size: 3}}
`;
const custom = `
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data:
  resource.customizations.health.example.com_Toy: |
    hs = {}
    hs.status = "Healthy"
    hs.message = "size " .. obj.spec.size
    return hs
`;
const nobody = () => ({ status: 500 });

test("admin health tells a program each object's health in a line of JSON, and asks no service", async () => {
  const { types, requests } = person(nobody);
  const { exit, out } = await types("admin", "health", await file("objects.yaml", objects));
  expect(exit).toBe(0);
  expect(
    out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { status: "Suspended", message: "Deployment is paused" },
    { status: null, message: null },
    { status: null, message: null },
  ]);
  expect(requests).toEqual([]);
});

test("admin health uses the checks of a ConfigMap, and reads standard input", async () => {
  const { types } = person(nobody, { stdin: async () => objects });
  const { out } = await types("admin", "health", "-", "--customizations", await file("cm.yaml", custom));
  expect(JSON.parse(out.trim().split("\n")[2]!)).toEqual({ status: "Healthy", message: "size 3" });
});

test("admin health shows a person a table", async () => {
  const { types } = person(nobody);
  const { out } = await types("admin", "health", await file("objects.yaml", objects), "-o", "table");
  expect(out).toBe(
    [
      "OBJECT                    HEALTH     MESSAGE",
      "apps/Deployment shop/web  Suspended  Deployment is paused",
      "ConfigMap c               no check",
      "example.com/Toy           no check",
      "",
    ].join("\n"),
  );
});

const wrong: [string, { given: string; custom?: string; want: RegExp }][] = [
  ["no YAML", { given: "a: [", want: /objects\.yaml: / }],
  ["no object", { given: "a: 1", want: /needs apiVersion and kind/ }],
  ["nothing", { given: "", want: /holds no object/ }],
  [
    "a check that cannot be read",
    {
      given: objects,
      custom: "resource.customizations: 'a: ['",
      want: /cm\.yaml: resource\.customizations is not YAML/,
    },
  ],
];
test.each(wrong)("admin health says what is wrong with its input: %s", async (_, { given, custom, want }) => {
  const { types } = person(nobody);
  const more = custom === undefined ? [] : ["--customizations", await file("cm.yaml", custom)];
  const { exit, err } = await types("admin", "health", await file("objects.yaml", given), ...more);
  expect(exit).toBe(2);
  expect(err).toMatch(want);
});
