import { application } from "../../generated/application.ts";
import { pipeline } from "../../generated/pipeline.ts";
import { print } from "../../value/path.ts";
import { writtenIn } from "./misspelt.ts";

const schemas: Record<string, typeof application.schema.attributes> = {
  outpost_application: application.schema.attributes,
  outpost_pipeline: pipeline.schema.attributes,
};
const found = (source: string): string[] =>
  writtenIn(source, (type) => schemas[type]).flatMap(({ id, misspelt }) =>
    misspelt.map(({ name, within, line, hint }) => `${id} ${line}: ${print(within)} ${name}${hint}`),
  );
const app = (body: string): string => `resource "outpost_application" "a" {\n  id = "web"\n  ${body}\n}\n`;

test.each([
  [
    "on one line",
    app('source = { path = "x", target_revison = "v1" }'),
    ["web 3: source target_revison Did you mean `target_revision`?"],
  ],
  ["with a colon", app('source = { path : "x", pth : "y" }'), ["web 3: source pth Did you mean `path`?"]],
  ["quoted", app('source = { "pth" = "y" }'), ["web 3: source pth Did you mean `path`?"]],
  [
    "over lines, below comments and texts with braces",
    app(
      '# source = { no = 1 }\n  source = {\n    path = "$${x}{" // {\n    /* } */ helm = { value = "${join(",", ["}"])}" }\n  }',
    ),
    ["web 6: source.helm value Did you mean `values`?"],
  ],
  [
    "in elements of a list, after a heredoc",
    app(
      'sources = [\n    { path = <<-EOT\n      } ] "\n      EOT\n    },\n    { repo_url = "a", helm = { parameters = [{ name = "a", valu = "b" }] } },\n  ]',
    ),
    ["web 8: sources[1].helm.parameters[0] valu Did you mean `value`?"],
  ],
  [
    "in a map of objects",
    'resource "outpost_pipeline" "p" {\n  id = local.id\n  inputs = { tag = { patern = "v" }, other = {} }\n}\n',
    ["undefined 3: inputs patern Did you mean `pattern`?"],
  ],
  ["far from every name", app("destination = { xyzzy = 1 }"), ["web 3: destination xyzzy"]],
  [
    "right",
    app('source = { path = "x" == "y" ? "a" : "b", target_revision = var.x }\n  labels = { anything = 1 }'),
    [],
  ],
  [
    "worked out",
    app(
      "source = merge({ pth = 1 }, {})\n  sources = [for x in y : { pth = x }]\n  destination = { for k, v in z : k => v }",
    ),
    [],
  ],
  ["of another provider", 'resource "other_thing" "a" {\n  source = { pth = 1 }\n}\n', []],
  ["in nested blocks", app("lifecycle {\n    ignore_changes = [source]\n  }"), []],
  ["in a file that breaks off", 'resource "outpost_application" "a" {\n  source = { path = "x', []],
  [
    "in a file that ends within an object",
    'resource "outpost_application" "a" {\n  id = "x"\n  source = { pth = 1',
    ["x 3: source pth Did you mean `path`?"],
  ],
] as [string, string, string[]][])("names inside objects that no schema has: %s", (_, source, want) => {
  expect(found(source)).toEqual(want);
});

test("a file of a megabyte is read in one pass", () => {
  const source = app('source = { pth = "x" }').repeat(15_000);
  const started = process.cpuUsage().user;
  expect(found(source)).toHaveLength(15_000);
  // 0.6 s of CPU here; a second pass over the rest for each object would take minutes.
  expect((process.cpuUsage().user - started) / 1e6).toBeLessThan(10);
});
