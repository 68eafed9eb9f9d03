import { Lua } from "../lua/lua.ts";
import type { KubeObject } from "../object.ts";
import { readCustomizations } from "./custom.ts";
import { Judge } from "./judge.ts";

const judge = new Judge(new Lua({ timeoutMs: 2_000 }));
afterAll(() => judge.close());

const object = (apiVersion: string, kind: string, rest: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: "n", ...metadata },
  ...rest,
});
const said = (status: string, message = "") => `return { status = "${status}", message = "${message}" }`;

const cases: [string, { data: Record<string, string>; given: KubeObject; want: string | undefined }][] = [
  [
    "a kind that has no check gets one",
    {
      data: {
        "resource.customizations.health.example.com_Toy": `hs = {} hs.status = "Healthy" hs.message = "size " .. obj.spec.size return hs`,
      },
      given: object("example.com/v1", "Toy", { spec: { size: 3 } }),
      want: "Healthy: size 3",
    },
  ],
  [
    "a kind without a group",
    {
      data: { "resource.customizations.health.ConfigMap": said("Suspended") },
      given: object("v1", "ConfigMap"),
      want: "Suspended",
    },
  ],
  [
    "a script comes before what is built in",
    {
      data: { "resource.customizations.health.apps_Deployment": said("Degraded", "mine") },
      given: object("apps/v1", "Deployment", { spec: { paused: true } }),
      want: "Degraded: mine",
    },
  ],
  [
    "deletion comes before a script",
    {
      data: { "resource.customizations.health.apps_Deployment": said("Healthy") },
      given: object("apps/v1", "Deployment", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      want: "Progressing: Pending deletion",
    },
  ],
  [
    "without a script what is built in",
    {
      data: {},
      given: object("apps/v1", "Deployment", { spec: { paused: true } }),
      want: "Suspended: Deployment is paused",
    },
  ],
  [
    "the older form, with stars",
    {
      data: { "resource.customizations": `"*.example.com/*":\n  health.lua: |\n    ${said("Healthy", "old")}\n` },
      given: object("a.b.example.com/v1", "Toy"),
      want: "Healthy: old",
    },
  ],
  [
    "the newer form, with an underscore for a star",
    {
      data: { "resource.customizations.health._.example.com_Toy": said("Healthy", "any") },
      given: object("a.example.com/v1", "Toy"),
      want: "Healthy: any",
    },
  ],
  [
    "another kind is not touched",
    {
      data: { "resource.customizations.health.example.com_Toy": said("Degraded") },
      given: object("example.com/v1", "Toys"),
      want: undefined,
    },
  ],
  [
    "a broken script is Unknown, with its reason",
    {
      data: { "resource.customizations.health.example.com_Toy": "return obj.status.phase" },
      given: object("example.com/v1", "Toy"),
      want: `Unknown: the health script failed: [string "return obj.status.phase"]:1: attempt to index a nil value (field 'status')`,
    },
  ],
  [
    "a script that does not end is Unknown",
    {
      data: { "resource.customizations.health.example.com_Toy": "while true do end" },
      given: object("example.com/v1", "Toy"),
      want: "Unknown: the health script failed: the script did not end within 2000 ms",
    },
  ],
  [
    "a word that is not health is Unknown",
    {
      data: { "resource.customizations.health.example.com_Toy": said("Splendid") },
      given: object("example.com/v1", "Toy"),
      want: "Unknown: Lua returned an invalid health status",
    },
  ],
  [
    "nothing is not health, which does not count",
    {
      data: { "resource.customizations.health.example.com_Toy": "local x" },
      given: object("example.com/v1", "Toy"),
      want: undefined,
    },
  ],
];
test.each(cases)("%s", async (_, { data, given, want }) => {
  judge.replace(readCustomizations(data));
  const got = await judge.judge(given);
  expect(got && [got.status, got.message].filter(Boolean).join(": ")).toBe(want);
});

test("an object that was prepared is known at once; another is being found out", async () => {
  judge.replace(readCustomizations({ "resource.customizations.health.example.com_Toy": said("Healthy") }));
  const [known, unknown] = [object("example.com/v1", "Toy"), object("example.com/v1", "Toy")];
  await judge.prepare([[known]]);
  expect(judge.of(known)).toEqual({ status: "Healthy" });
  expect(judge.of(unknown)).toMatchObject({ status: "Progressing" });
  expect(await judge.judge(unknown)).toEqual({ status: "Healthy" });
});

test("new scripts judge anew what the old ones have judged", async () => {
  const toy = object("example.com/v1", "Toy");
  for (const status of ["Healthy", "Degraded"]) {
    judge.replace(readCustomizations({ "resource.customizations.health.example.com_Toy": said(status) }));
    expect(await judge.judge(toy)).toEqual({ status });
  }
});

test("what cannot be read is told, and leaves the rest alone", () => {
  const { health, actions, problems } = readCustomizations({
    "resource.customizations": "a: [",
    "resource.customizations.health.example.com_Toy": said("Healthy"),
    "resource.customizations.actions.example.com_Toy": "definitions: []",
    "resource.customizations.health.example.com_Long": "x".repeat(300_000),
  });
  expect([...health.keys()]).toEqual(["example.com/Toy"]);
  expect([...actions.keys()]).toEqual([]);
  expect(problems).toEqual([
    expect.stringMatching(/^resource\.customizations is not YAML: /),
    expect.stringMatching(/^resource\.customizations\.actions\.example\.com_Toy needs discovery\.lua/),
    "resource.customizations.health.example.com_Long is longer than 256 KiB",
  ]);
});
