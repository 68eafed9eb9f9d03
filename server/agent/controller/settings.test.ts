import { Settings } from "./settings.ts";

function settings(data: Record<string, string>): Settings {
  const made = new Settings();
  made.replace([{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "argocd-cm" }, data }]);
  return made;
}

test.each<[string, Record<string, string>, [string, string, string], boolean]>([
  ["nothing set", {}, ["apps", "Deployment", "https://a"], false],
  ["events, whatever is set", {}, ["events.k8s.io", "Event", "https://a"], true],
  ["leases, whatever is set", { "resource.exclusions": "[]" }, ["coordination.k8s.io", "Lease", "https://a"], true],
  [
    "an excluded kind",
    { "resource.exclusions": "- {apiGroups: [apps], kinds: [Dep*]}" },
    ["apps", "Deployment", "https://a"],
    true,
  ],
  [
    "an excluded group",
    { "resource.exclusions": "- apiGroups: ['*.example']" },
    ["x.example", "Any", "https://a"],
    true,
  ],
  [
    "on another cluster",
    { "resource.exclusions": "- {kinds: [Secret], clusters: ['https://b*']}" },
    ["", "Secret", "https://a"],
    false,
  ],
  [
    "outside of what is included",
    { "resource.inclusions": "- {apiGroups: [apps]}" },
    ["", "Secret", "https://a"],
    true,
  ],
  [
    "inside of what is included",
    { "resource.inclusions": "- {apiGroups: [apps]}" },
    ["apps", "Deployment", "https://a"],
    false,
  ],
])("excluded: %s", (_name, data, [group, kind, server], want) => {
  expect(settings(data).excludes(group, kind, server)).toBe(want);
});

const rule = (group: string, kind: string, more: object) => ({
  group,
  kind,
  jsonPointers: [],
  jqPathExpressions: [],
  managedFieldsManagers: [],
  ...more,
});
test.each<[string, Record<string, string>, object[]]>([
  [
    "of a kind",
    { "resource.customizations.ignoreDifferences.apps_Deployment": "jsonPointers: [/spec/replicas]" },
    [rule("apps", "Deployment", { jsonPointers: ["/spec/replicas"] })],
  ],
  [
    "of a core kind",
    { "resource.customizations.ignoreDifferences._Secret": "jqPathExpressions: [.data]" },
    [rule("", "Secret", { jqPathExpressions: [".data"] })],
  ],
  [
    "of all kinds",
    { "resource.customizations.ignoreDifferences.all": "managedFieldsManagers: [hpa]" },
    [rule("*", "*", { managedFieldsManagers: ["hpa"] })],
  ],
  [
    "in the older form",
    { "resource.customizations": "apps/Deployment:\n  ignoreDifferences: |\n    jsonPointers: [/spec/x]\n" },
    [rule("apps", "Deployment", { jsonPointers: ["/spec/x"] })],
  ],
  [
    "in the older form, where the kind has an entry of its own",
    {
      "resource.customizations":
        "apps/Deployment:\n  ignoreDifferences: |\n    jsonPointers: [/spec/x]\nSecret:\n  ignoreDifferences: |\n    jsonPointers: [/data]\n",
      "resource.customizations.ignoreDifferences.apps_Deployment": "jsonPointers: [/spec/y]",
    },
    [rule("apps", "Deployment", { jsonPointers: ["/spec/y"] }), rule("", "Secret", { jsonPointers: ["/data"] })],
  ],
])("ignored differences %s", (_name, data, want) => {
  expect(settings(data).rules).toEqual(want);
});

test("known fields are read in both forms, and a wrong type is said", () => {
  const made = settings({
    "resource.customizations": "example.com/Old:\n  knownTypeFields:\n  - {field: spec.cpu, type: core/Quantity}\n",
    "resource.customizations.knownTypeFields.example.com_Widget":
      "- {field: spec.wait, type: meta/v1/Duration}\n- {field: spec.x, type: other}\n",
  });
  expect(made.knownFields).toEqual([
    { group: "example.com", kind: "Widget", path: ["spec", "wait"], holds: "duration" },
    { group: "example.com", kind: "Old", path: ["spec", "cpu"], holds: "quantity" },
  ]);
  expect(made.problems).toEqual([
    "argocd-cm: resource.customizations.knownTypeFields.example.com_Widget: the type other is not known",
  ]);
});

test("accounts of projects are in force unless that is switched off", () => {
  const key = "application.sync.impersonation.enabled";
  expect(["", "true", "false"].map((given) => settings({ [key]: given }).impersonation)).toEqual([
    "where named",
    "always",
    "off",
  ]);
  expect(settings({}).impersonation).toBe("where named");
});

test.each<[string, Record<string, string>, object, number]>([
  ["nothing said", {}, { method: "annotation", labelKey: "app.kubernetes.io/instance", installation: "" }, 0],
  ["by label", { "application.resourceTrackingMethod": "label" }, { method: "label" }, 0],
  [
    "by both",
    { "application.resourceTrackingMethod": "annotation+label", "application.instanceLabelKey": "a/b" },
    { method: "annotation+label", labelKey: "a/b" },
    0,
  ],
  ["of an installation", { installationID: "eu" }, { installation: "eu" }, 0],
  ...["a b", "A/b", "a/b/c", "/a", "-a", "outpost.dev/app", `a/${"x".repeat(64)}`].map(
    (key): [string, Record<string, string>, object, number] => [
      `by a label that none can be, ${key}`,
      { "application.instanceLabelKey": key },
      { labelKey: "app.kubernetes.io/instance" },
      1,
    ],
  ),
  ["by what nobody knows", { "application.resourceTrackingMethod": "labels" }, { method: "annotation" }, 1],
])("how objects are tracked: %s", (_name, data, want, problems) => {
  const made = settings(data);
  expect(made.tracking).toMatchObject(want);
  expect(made.problems).toHaveLength(problems);
});

test("what cannot be read is said, and the same content is not a change", () => {
  const made = settings({ "resource.exclusions": "{", "resource.inclusions": "text" });
  expect(made.problems).toEqual([
    expect.stringMatching(/^argocd-cm: resource\.exclusions is not YAML/),
    "argocd-cm: resource.inclusions is not a list",
  ]);
  expect(made.replace([])).toBe(true);
  expect(made.replace([])).toBe(false);
  expect(made.problems).toEqual([]);
});
