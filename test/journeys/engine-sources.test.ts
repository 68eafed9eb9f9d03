import { CONFIG_MAP, configMap, synced, type World, world } from "./engine-world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const CHART = {
  "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
  "chart/values.yaml": "greeting: chart\n",
  "chart/templates/cm.yaml":
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {greeting: {{ .Values.greeting | quote }}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: both}\ndata: {from: chart}\n",
};

test("an application of several sources: values of one repository for a chart of another, the last one wins, and each has its revision", async () => {
  await w.git.createRepository("charts", { files: CHART });
  await w.git.createRepository("values", { files: { "prod.yaml": "greeting: prod\n" } });
  await w.git.createRepository("more", {
    files: {
      "both.yaml": configMap("both", { from: "more" }),
      "j.jsonnet": `{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "j"}, data: {from: std.extVar("x")}}`,
    },
  });
  const source = (name: string, more: object) => ({ repoURL: w.git.cloneUrl(name), targetRevision: "main", ...more });
  const sources = [
    source("charts", { path: "chart", helm: { valueFiles: ["$values/prod.yaml"] } }),
    source("values", { ref: "values" }),
    source("more", { path: ".", directory: { jsonnet: { extVars: [{ name: "x", value: "$ARGOCD_APP_NAME" }] } } }),
  ];
  await w.app("several", { source: undefined, sources });
  const app = await w.until("several", synced, "Synced");
  expect((await w.object(CONFIG_MAP, "several", "web"))?.data).toEqual({ greeting: "prod" });
  expect((await w.object(CONFIG_MAP, "several", "both"))?.data).toEqual({ from: "more" });
  expect((await w.object(CONFIG_MAP, "several", "j"))?.data).toEqual({ from: "several" });
  const revisions = [expect.stringMatching(/^[0-9a-f]{40}$/), expect.any(String), expect.any(String)];
  expect(app.status).toMatchObject({
    sourceTypes: ["Helm", "", "Directory"],
    sync: { revisions, comparedTo: { sources } },
    operationState: { syncResult: { revisions, sources } },
    history: [{ id: 0, revisions, sources }],
  });
  expect([app.status?.sync?.revision, app.status?.sourceType, new Set(app.status?.sync?.revisions).size]).toEqual([
    undefined,
    undefined,
    3,
  ]);
  expect(app.status?.conditions).toMatchObject([
    { type: "RepeatedResourceWarning", message: expect.stringContaining("appeared 2 times") },
  ]);

  const changed = await w.git.commit("values", { "prod.yaml": "greeting: newer\n" }, "values");
  await w.refresh("several");
  const after = await w.until("several", (a) => synced(a) && a.status?.history?.length === 2, "synced again");
  expect(after.status?.sync?.revisions?.[1]).toBe(changed);
  expect((await w.object(CONFIG_MAP, "several", "web"))?.data).toEqual({ greeting: "newer" });
}, 60_000);

test("a source that is not right says which one", async () => {
  const repoURL = "https://git.example.invalid/x";
  await w.app("odd", { source: undefined, sources: [{ repoURL, ref: "a" }, { repoURL }] });
  const app = await w.until("odd", (a) => a.status?.sync?.status === "Unknown");
  expect(app.status?.conditions).toMatchObject([
    { type: "InvalidSpecError", message: expect.stringContaining("spec.sources[1].path") },
  ]);
});
