import type { Fault } from "./fault.ts";
import { readDocument } from "./yaml-nesting.ts";

type Spec = Record<string, unknown>;
type Shape = "mapping" | "list" | "patch";

/**
 * Errors in the YAML of a spec: Helm values, patches, elements of lists. A door of its own, because Terraform's provider loads the
 * parser only for a configuration that has such texts.
 */
export function yamlFaults(collection: string, spec: Spec): Fault[] {
  return yamlTexts(collection, spec).flatMap(([text, pointer, shape]) => yamlFault(text, pointer, shape));
}

const objectOf = (value: unknown): Spec =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Spec) : {};
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function yamlTexts(collection: string, spec: Spec): [text: unknown, pointer: string, shape: Shape][] {
  if (collection === "applications") return sourceTexts(spec, "");
  if (collection !== "applicationsets") return [];
  const lists = listOf(spec.generators).map((one, i): [unknown, string, Shape] => [
    objectOf(objectOf(one).list).elementsYaml,
    `/generators/${i}/list/elementsYaml`,
    "list",
  ]);
  const texts: [unknown, string, Shape][] = [
    ...lists,
    [spec.templatePatch, "/templatePatch", "mapping"],
    ...sourceTexts(objectOf(objectOf(spec.template).spec), "/template/spec"),
  ];
  // Parameters are filled in first: the result is not known yet.
  return texts.filter(([text]) => !String(text).includes("{{"));
}

function sourceTexts(spec: Spec, at: string): [unknown, string, Shape][] {
  const sources = [
    ...(spec.source ? [[spec.source, `${at}/source`] as const] : []),
    ...listOf(spec.sources).map((one, i) => [one, `${at}/sources/${i}`] as const),
  ];
  return sources.flatMap(([source, here]) => [
    [objectOf(objectOf(source).helm).values, `${here}/helm/values`, "mapping"] as [unknown, string, Shape],
    ...listOf(objectOf(objectOf(source).kustomize).patches).map((patch, i): [unknown, string, Shape] => [
      objectOf(patch).patch,
      `${here}/kustomize/patches/${i}/patch`,
      "patch",
    ]),
  ]);
}

const WANTED: Record<Shape, string> = {
  mapping: "The YAML must be a mapping, for example `replicas: 2`.",
  list: "The YAML must be a list, for example `- name: web`.",
  patch:
    "The patch must be a YAML mapping, or a list of JSON patch operations such as `[{op: replace, path: /spec/replicas, value: 2}]`.",
};

/** The error of a YAML text. The text is not quoted: it may hold a secret. */
function yamlFault(text: unknown, pointer: string, shape: Shape): Fault[] {
  if (typeof text !== "string" || text === "") return [];
  const documents = read(text, shape);
  if (typeof documents === "string") return [{ pointer, detail: documents }];
  const [value] = documents;
  if (value === null || value === undefined) return [];
  const fits =
    shape === "list" ? Array.isArray(value) : typeof value === "object" && (shape === "patch" || !Array.isArray(value));
  if (!fits) return [{ pointer, detail: WANTED[shape] }];
  const operation = shape === "patch" && Array.isArray(value) ? value.findIndex((one) => !isOperation(one)) : -1;
  if (operation < 0) return [];
  return [
    {
      pointer,
      detail: `Operation ${operation + 1} of the JSON patch cannot be read. Write \`{op: replace, path: /spec/replicas, value: 2}\`; \`op\` is add, remove, replace, move, copy or test, and \`path\` begins with \`/\`.`,
    },
  ];
}

function isOperation(value: unknown): boolean {
  const { op, path } = objectOf(value);
  return (
    typeof op === "string" &&
    /^(add|remove|replace|move|copy|test)$/.test(op) &&
    typeof path === "string" &&
    /^(\/|$)/.test(path)
  );
}

function read(text: string, shape: Shape): [unknown] | string {
  // With places in its messages it would read the text again for each of its faults, and a text may be nothing but faults.
  const document = readDocument(text, { logLevel: "silent", prettyErrors: false });
  // A patch may be several documents; the first one is looked into.
  const fault = document.errors.find(({ code }) => shape !== "patch" || code !== "MULTIPLE_DOCS");
  if (fault) {
    const lines = text.slice(0, fault.pos[0]).split("\n");
    // The first line of the parser's message does not quote the text.
    return `The YAML cannot be read: ${fault.message.split("\n")[0]?.slice(0, 200)} at line ${lines.length}, column ${lines.at(-1)!.length + 1}.`;
  }
  try {
    return [document.toJS({ maxAliasCount: 100 })];
  } catch {
    return "The YAML has aliases that do not resolve, or too many of them.";
  }
}
