import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newBudget } from "../files/extract.ts";
import { openSubcharts } from "./subcharts.ts";

const work = mkdtempSync(join(tmpdir(), "schemas-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

test.each<[string, object, string]>([
  ["the newest draft over http", { $schema: "http://json-schema.org/schema#" }, "done"],
  ["the newest draft over https", { $schema: "https://json-schema.org/schema#" }, "done"],
  ["the newest draft without a fragment", { $schema: "https://json-schema.org/schema" }, "done"],
  ["a named draft", { $schema: "http://json-schema.org/draft-07/schema#" }, "done"],
  ["a draft of a year", { $schema: "https://json-schema.org/draft/2020-12/schema" }, "done"],
  ["a draft that does not exist", { $schema: "https://json-schema.org/draft-99/schema#" }, "stop"],
  ["another path of the same host", { $schema: "https://json-schema.org/schema/other" }, "stop"],
  ["another host", { $schema: "https://json-schema.org.example/schema#" }, "stop"],
  ["a reference to another file", { properties: { a: { $ref: "other.json" } } }, "stop"],
])("values.schema.json with %s: %s → %s", async (_name, schema, want) => {
  writeFileSync(join(work, "values.schema.json"), JSON.stringify(schema));
  expect((await openSubcharts(work, newBudget(), false)).kind).toBe(want);
});
