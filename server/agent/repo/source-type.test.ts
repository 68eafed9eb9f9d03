import { type Bench, chart, configMap, startBench } from "./testing.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

const kustomization = { "kustomization.yaml": "resources: [own.yaml]\n", "own.yaml": configMap("own") };

test.each([
  ["a chart and a kustomization are a kustomization", { ...chart(""), ...kustomization }, {}, ["own"]],
  ["both, and the source says helm: a chart", { ...chart(""), ...kustomization }, { helm: {} }, ["app-c"]],
  ["a chart alone is a chart", chart(""), {}, ["app-c"]],
  ["a kustomization alone is a kustomization", kustomization, {}, ["own"]],
  [
    "a schema that names the newest draft is known without network",
    {
      ...chart(""),
      "values.schema.json": JSON.stringify({ $schema: "http://json-schema.org/schema#", type: "object" }),
    },
    {},
    ["app-c"],
  ],
])("%s", async (_name, files, source, want) => {
  expect(await bench.names(bench.request(await bench.repository(files), source))).toEqual(want);
});
