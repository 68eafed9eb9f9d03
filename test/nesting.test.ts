import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { MAX_NESTING, readJson, TOO_DEEP } from "../openapi/rules/nesting.ts";
import { readDocument, readDocuments, readYaml } from "../openapi/rules/yaml-nesting.ts";
import { yamlFaults } from "../openapi/rules/yaml-texts.ts";
import { readYaml as readTemplateYaml } from "../server/agent/appset/template/sprig/encode.ts";
import { parseJson as parseBody } from "../server/base/json/json.ts";
import { parseExact, parseExactJson } from "../server/cli/output/exact.ts";
import { editValues } from "../server/delegate/kinds/gitops/edit-values.ts";
import { parseKubeconfig } from "../server/kube/config.ts";
import { readAnswer } from "../server/kube/read.ts";
import { parseJson, parseManifests, parseYaml } from "../server/kube/yaml.ts";

/** Texts that are nested too deeply: every parser bounds them before it builds anything. V8 ends the process if its stack ends in a pattern. */
const root = fileURLToPath(new URL("..", import.meta.url));
const LEVELS = 5_000;
const SHAPES: Record<string, string> = {
  objects: `${'{"a":'.repeat(LEVELS)}1${"}".repeat(LEVELS)}`,
  arrays: `${"[".repeat(LEVELS)}${"]".repeat(LEVELS)}`,
  "arrays that never end": "[".repeat(LEVELS),
  lists: `${"- ".repeat(LEVELS)}x`,
  keys: `${"? ".repeat(LEVELS)}x`,
  indentation: Array.from({ length: LEVELS / 5 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"),
  "a list in a map": `kind: A\napiVersion: v1\nspec:\n  a: ${"[{a: ".repeat(LEVELS)}`,
};

/** Why it was refused; undefined when it was read. */
function why(read: () => unknown): string | undefined {
  try {
    const got = read() as { kind?: string; message?: string; detail?: string; errors?: Error[] } | undefined;
    if (Array.isArray(got)) return got.map((one) => one.errors?.[0]?.message ?? one.detail)[0];
    return got?.errors?.[0]?.message ?? (got?.kind === "stop" ? got.message : got?.detail);
  } catch (error) {
    return (error as Error).message;
  }
}

const YAML: Record<string, (text: string) => unknown> = {
  "documents of the rules": (text) => readDocuments(text, { logLevel: "silent" }),
  "a document of the rules": (text) => readDocument(text, { logLevel: "silent" }),
  "a value of the rules": (text) => readYaml(text),
  "Helm values and patches": (text) => yamlFaults("applications", { source: { helm: { values: text } } }),
  "manifests of the repo server": (text) => parseManifests(text, "a.yaml"),
  "Chart.yaml and kustomization": (text) => parseYaml(text, "Chart.yaml"),
  "templates of sets": (text) => readTemplateYaml(text),
  "files of the command line": (text) => parseExact(text, "a.yaml"),
  "files that the delegate edits": (text) => editValues("a.yaml", text, { "/a": "1" }),
  kubeconfig: (text) => parseKubeconfig(text),
};
test.each(
  Object.entries(YAML).flatMap(([name, read]) => Object.keys(SHAPES).map((shape) => [name, shape, read] as const)),
)("YAML, %s: %s", (_, shape, read) => expect(why(() => read(SHAPES[shape]!))).toMatch(new RegExp(TOO_DEEP)));

// One of these, a hundred levels deep, takes the parser minutes.
test.each(Object.entries(YAML))("YAML, %s: keys that are maps or lists", (_, read) => {
  expect(why(() => read(`${"? ".repeat(150)}x`))).toMatch(/a map or a list is not a key/);
});

const JSONS: Record<string, (text: string) => unknown> = {
  "a value": (text) => readJson(text),
  "an object of the command line": (text) => parseExactJson(text, "a.json"),
  "a body of the service": (text) => parseBody(Buffer.from(text), { depth: MAX_NESTING, members: 1e6 }),
};
test.each(
  Object.entries(JSONS).flatMap(([name, read]) => ["objects", "arrays"].map((shape) => [name, shape, read] as const)),
)("JSON, %s: %s", (_, shape, read) => expect(why(() => read(SHAPES[shape]!))).toMatch(/200 deep/));

test("a manifest in JSON is refused, and one of two hundred levels is read", () => {
  expect(parseJson(SHAPES.objects!, "a.json")).toMatchObject({ kind: "stop" });
  const levels = MAX_NESTING - 1;
  const text = `{"kind":"A","apiVersion":"v1","metadata":{"name":"a"},"spec":${'{"a":'.repeat(levels - 1)}1${"}".repeat(levels)}`;
  expect(parseJson(text, "a.json")).toMatchObject({ kind: "done" });
  expect(
    parseManifests(`a:${Array.from({ length: 60 }, (_, i) => `\n${" ".repeat(2 * i + 1)}- a:`).join("")}`, "a.yaml"),
  ).toMatchObject({
    message: expect.stringContaining("kind"),
  });
});

test("one deep object does not hide the others of a list, or end a watch", () => {
  const deep = `{"kind":"A","metadata":{"name":"deep"},"spec":${SHAPES.objects}}`;
  const list = readAnswer(`{"items":[${deep},{"kind":"A","metadata":{"name":"good"}}]}`) as {
    items: { metadata: { name: string } }[];
  };
  expect(list.items.map(({ metadata }) => metadata.name)).toEqual(["deep", "good"]);
  expect(JSON.stringify(list).length).toBeLessThan(2_000);
  expect(JSON.stringify(readAnswer(`{"type":"ADDED","object":${deep}}`)).length).toBeLessThan(2_000);
});

const BOUND = [
  "openapi/rules/nesting.ts",
  "openapi/rules/yaml-nesting.ts",
  "server/base/json/json.ts",
  "server/kube/read.ts",
];
/** Files that parse without that bound, and why they may: what they read is their own, or bounded by who made it. */
const OWN: Record<string, string> = {
  "server/agent/model/generate.ts": "run by developers",
  "server/delegate/kinds/generate.ts": "run by developers",
  "provider/generate.ts": "run by developers",
  "server/agent/cache/redis.ts": "sealed by this program",
  "server/agent/appset/generate.ts": "a copy",
  "server/agent/appset/template/sprig/encode.ts": "a copy",
  "server/base/lang/go-pattern.ts": "an answer of its own worker",
  "server/agent/repo/client.ts": "a sealed answer of the repo server, of bounded manifests",
  "server/agent/link/tasks/remote/server.ts": "sealed by the link",
  "server/agent/link/tasks/remote/client.ts": "sealed by the controller",
  "server/agent/link/discover/discovery.ts": "made by this program",
  "server/agent/eval/manifests.ts": "a copy",
  "server/agent/eval/difference.ts": "a copy",
  "server/agent/controller/compare/compare.ts": "a copy",
  "server/control/api/write.ts": "an answer that the service kept",
  "server/control/api/applications/logs.ts": "a copy, and bounded results",
  "server/control/api/applications/read.ts": "a copy",
  "server/control/store/database/lock.ts": "a file of its own",
  "server/cli/task/task.ts": "bounded by the service",
  "server/cli/objects/explain.ts": "bounded by the service",
  "server/cli/objects/follow.ts": "bounded by the service",
  "server/cli/app/logs.ts": "bounded by the service",
  "server/cli/session/settings.ts": "a file of its own",
  "server/cli/session/api.ts": "bounded by the service",
  "server/link/identity/identity.ts": "a file of its own",
  "server/base/json/json-numbers.ts": "one text of a JSON text",
  "openapi/rules/jq/tokens.ts": "one text",
  "openapi/known-agents.ts": "a file of its own",
  "openapi/seal.ts": "sealed by the command line or the provider, bounded",
  "provider/value/msgpack.ts": "a type, by Terraform",
  "provider/value/json.ts": "a document of its own user",
  "provider/protocol/rpc/ephemeral/OpenEphemeralResource.ts": "its own private state",
  "provider/protocol/convert.ts": "state, by Terraform",
  "provider/resources/task.ts": "a document of its own user",
  "provider/resources/written/files.ts": "a file of Terraform",
  "provider/resources/credentials/sign-in.ts": "a document of its own user",
  "provider/client/profile.ts": "a file of its own user",
  "provider/client/client.ts": "bounded by the service",
};

const walk = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? walk(join(dir, entry.name)) : [join(dir, entry.name)],
  );
test("every parser of the product is bounded, or is listed with the reason why it need not be", () => {
  const files = ["openapi", "server", "provider", "modules/install"]
    .flatMap((room) => walk(join(root, room)))
    .map((path) => relative(root, path))
    .filter(
      (path) =>
        path.endsWith(".ts") && !/\.test\.ts$|\/(testing|generated|contract|generate)\/|\/testing\.ts$/.test(path),
    );
  const parsing = files.filter((path) => {
    const text = readFileSync(join(root, path), "utf8");
    const names =
      /import \{([^}]*)\} from "yaml"/
        .exec(text)?.[1]
        ?.split(",")
        .map((name) => name.trim()) ?? [];
    const yaml = names.some((name) => ["parse", "parseDocument", "parseAllDocuments", "Parser"].includes(name));
    return yaml || /\bJSON\.parse\(/.test(text);
  });
  expect(parsing.filter((path) => !BOUND.includes(path)).sort()).toEqual(Object.keys(OWN).sort());
});
