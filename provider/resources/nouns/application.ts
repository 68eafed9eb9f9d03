import { application as noun } from "../../generated/application.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { attr, index, type Path, root } from "../../value/path.ts";
import { field, isMap, Unknown, type Value, type ValueMap } from "../../value/value.ts";
import { judgeApplication } from "../../wait/application.ts";
import { explained } from "../../wait/explained.ts";
import { exclusive, given, isBelowAgent, known, warnWithoutProject } from "../checks.ts";
import { createResource } from "../crud/resource.ts";

export const application = createResource(noun, { validate, judge: judgeApplication, explain: explained });

/** The contract's rules in words: which fields exclude each other. The service checks values that are unknown at plan time. */
function validate(config: ValueMap, diagnostics: Diagnostics): void {
  const [source, sources] = [config.get("source") ?? null, config.get("sources") ?? null];
  exactlyOne(config, ["source", "sources"], root, diagnostics);
  validateSource(source, attr(root, "source"), diagnostics);
  if (Array.isArray(sources))
    for (const [i, one] of sources.entries()) validateSource(one, index(attr(root, "sources"), i), diagnostics);
  exclusive(
    config,
    ["app_project", "argo_project"],
    root,
    diagnostics,
    "Give `app_project` for a project of this service, or `argo_project` for one that is in the agent's namespace already.",
  );
  if (isBelowAgent(config) && !given(config, "app_project") && !given(config, "argo_project"))
    warnWithoutProject("app_project", "Set `app_project` to one of this scope or of a scope above.", diagnostics);
}

function validateSource(source: Value, path: Path, diagnostics: Diagnostics): void {
  if (!isMap(source)) return;
  exactlyOne(source, ["repository", "repo_url"], path, diagnostics);
  const kinds = ["directory", "helm", "kustomize", "plugin"].filter((name) => known(source, name));
  if (kinds.length > 1)
    diagnostics.error(
      "Two kinds of source",
      `Give only one of ${kinds.map((k) => `\`${k}\``).join(" and ")}.`,
      attr(path, kinds[1]!),
    );
  if (known(source, "chart") && known(source, "path"))
    diagnostics.error(
      "Chart or path",
      "Give either `chart` (in a Helm repository) or `path` (in Git).",
      attr(path, "chart"),
    );
  validatePlugin(field(source, "plugin"), attr(path, "plugin"), diagnostics);
}

function exactlyOne(value: ValueMap, names: readonly [string, string], path: Path, diagnostics: Diagnostics): void {
  const [a, b] = names.map((name) => field(value, name));
  const both = names.map((n) => `\`${n}\``).join(" and ");
  if (a === null && b === null)
    diagnostics.error("Missing source", `Give exactly one of ${both}.`, path.length > 0 ? path : undefined);
  else if (a !== null && b !== null && !(a instanceof Unknown) && !(b instanceof Unknown))
    diagnostics.error("Two sources", `Give exactly one of ${both}.`, attr(path, names[1]));
}

/** Exactly one form of a parameter of a plugin. A value that is not known yet may become null, and so may be the one or none. */
function validatePlugin(plugin: Value, path: Path, diagnostics: Diagnostics): void {
  const parameters = field(plugin, "parameters");
  if (!Array.isArray(parameters)) return;
  for (const [i, one] of parameters.entries()) {
    const forms = ["string", "array", "map"];
    const none = !forms.some((name) => given(one, name));
    if (isMap(one) && (none || forms.filter((name) => known(one, name)).length > 1))
      diagnostics.error(
        none ? "A parameter without a value" : "Two values of one parameter",
        "Give exactly one of `string`, `array` and `map`.",
        index(attr(path, "parameters"), i),
      );
  }
}
