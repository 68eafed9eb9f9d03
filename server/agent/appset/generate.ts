import { done, type Outcome, stop } from "../../base/outcome.ts";
import { clusters } from "./generators/clusters.ts";
import { caught, matrix, merge } from "./generators/combine.ts";
import { type Generate, type GeneratorContext, MAX_PARAMS } from "./generators/context.ts";
import { decision } from "./generators/decision.ts";
import { git } from "./generators/git.ts";
import { list } from "./generators/list.ts";
import { plugin } from "./generators/plugin.ts";
import { pullRequest } from "./generators/pull-request.ts";
import { scmProvider } from "./generators/scm-provider.ts";
import { Work } from "./generators/work.ts";
import { asLabels, type Params, replaceAll } from "./parameters/params.ts";
import { fillTemplate, strategicMerge } from "./parameters/patch.ts";
import { selectorOf } from "./parameters/selector.ts";
import { misshapen } from "./parameters/shape.ts";
import { type Rendering, render } from "./template/render.ts";
import { readYaml } from "./template/sprig/encode.ts";
import { TemplateError } from "./template/value.ts";
import {
  APPSET,
  type ApplicationSetSpec,
  type ApplicationTemplate,
  type Free,
  GENERATORS,
  type Generated,
  type Generator,
  type GeneratorName,
} from "./types.ts";
import type { World } from "./world/world.ts";

const FINALIZER = "resources-finalizer.argocd.argoproj.io";
// A matrix may hold a matrix, and that one only plain generators.
const MAX_NESTING = 2;

const SIMPLE: Record<Exclude<GeneratorName, "matrix" | "merge">, Generate> = {
  list,
  clusters,
  git,
  scmProvider,
  clusterDecisionResource: decision,
  pullRequest,
  plugin,
};

/** Every application that a set's generators and template make. If one cannot be made, all fail: a missing application must not look deleted. */
export async function generate(
  name: string,
  spec: ApplicationSetSpec,
  world: World,
  fresh = false,
): Promise<Outcome<Generated[]>> {
  const work = new Work();
  const how: Rendering = { goTemplate: spec.goTemplate === true, options: spec.goTemplateOptions ?? [], work };
  const context: GeneratorContext = { name, world, how, work, fresh, project: projectOf(spec) };
  const made: Generated[] = [];
  for (const entry of spec.generators ?? []) {
    for (const kind of kindsOf(entry)) {
      const params = await run(kind, entry, context, undefined, 0);
      if (params.kind !== "done") return params;
      if (made.length + params.value.length > MAX_PARAMS)
        return stop(APPSET.params, `the set has more than ${MAX_PARAMS} applications`);
      const template = fillTemplate(entry[kind]?.template, spec.template) as ApplicationTemplate;
      for (const one of params.value) {
        await work.turn();
        const application = fill(template, spec, one, how);
        if (application.kind !== "done") return application;
        made.push(application.value);
      }
    }
  }
  return done(made);
}

/** The project of all applications; nothing when the template leaves it to parameters, so that these choose no credentials. */
function projectOf({ template }: ApplicationSetSpec): string | undefined {
  const project: unknown = template?.spec?.project;
  return typeof project === "string" && project !== "" && !project.includes("{{") ? project : undefined;
}

const kindsOf = (entry: Generator): GeneratorName[] =>
  GENERATORS.filter((kind) => entry?.[kind] !== undefined && entry[kind] !== null);

/** Parameters of one kind of an entry, after its selector. */
async function run(
  kind: GeneratorName,
  entry: Generator,
  context: GeneratorContext,
  first: Params | undefined,
  depth: number,
): Promise<Outcome<Params[]>> {
  const fits = selectorOf(entry.selector);
  if (fits.kind !== "done") return fits;
  return caught(async () => {
    await context.work.turn();
    // The second of a matrix sees what the first one gave.
    const settings = (first?.size ? replaceAll(entry[kind], first, context.how) : entry[kind]) as Free;
    const params = await parametersOf(kind, settings, context, depth);
    if (params.kind === "done") context.work.count(params.value.length);
    if (params.kind !== "done" || !entry.selector) return params;
    return done(params.value.filter((one) => fits.value(asLabels(one))));
  });
}

async function parametersOf(
  kind: GeneratorName,
  settings: Free,
  context: GeneratorContext,
  depth: number,
): Promise<Outcome<Params[]>> {
  if (kind === "matrix") return matrix(settings, context, child, depth + 1);
  if (kind === "merge") return merge(settings, context, child, depth + 1);
  return SIMPLE[kind](settings, context);
}

async function child(
  entry: Generator,
  context: GeneratorContext,
  first: Params | undefined,
  depth: number,
): Promise<Outcome<Params[]>> {
  const kinds = kindsOf(entry).filter((kind) => depth < MAX_NESTING || (kind !== "matrix" && kind !== "merge"));
  if (kinds.length === 0) return stop(APPSET.params, "child generator generated no parameters");
  if (kinds.length > 1)
    return stop(APPSET.params, "found more than one generator in a child of a matrix or merge: one is allowed");
  const params = await run(kinds[0]!, entry, context, first, depth);
  return params.kind === "done"
    ? params
    : { ...params, message: `child generator returned an error on parameter generation: ${params.message}` };
}

function fill(
  template: ApplicationTemplate,
  spec: ApplicationSetSpec,
  params: Params,
  how: Rendering,
): Outcome<Generated> {
  const { name = "", namespace, labels, annotations, finalizers } = template.metadata ?? {};
  const plain = { metadata: { name, namespace, labels, annotations, finalizers }, spec: template.spec ?? {} };
  try {
    const filled = params.size === 0 ? bare(plain) : (replaceAll(bare(plain), params, how) as unknown as Generated);
    const ends = params.size > 0 && !spec.syncPolicy?.preserveResourcesOnDeletion;
    if (ends && !filled.metadata.finalizers?.length) filled.metadata.finalizers = [FINALIZER];
    const application = patched(filled, spec, params, how);
    const problem = misshapen(application);
    return problem
      ? stop(APPSET.template, `no application can be made of the template: ${problem}`)
      : done(application);
  } catch (error) {
    if (error instanceof TemplateError) return stop(APPSET.template, error.message);
    throw error;
  }
}

const bare = (value: object): Generated => JSON.parse(JSON.stringify(value)) as Generated;

function patched(
  application: Generated,
  { templatePatch }: ApplicationSetSpec,
  params: Params,
  how: Rendering,
): Generated {
  if (templatePatch === undefined || templatePatch === null) return application;
  let text: string;
  try {
    text = render(templatePatch, params, how);
  } catch (error) {
    if (error instanceof TemplateError)
      throw new TemplateError(`error replacing values in templatePatch: ${error.message}`);
    throw error;
  }
  const patch = readYaml(text);
  if (patch === null) return application;
  if (typeof patch !== "object" || Array.isArray(patch))
    throw new TemplateError(`invalid templatePatch ${JSON.stringify(text.slice(0, 200))}: it is not an object`);
  const result = strategicMerge(application, patch as Free) as Generated;
  const { project } = application.spec;
  // A patch may come from parameters that others write: it cannot lead out of the project.
  result.spec = { ...result.spec, ...(project === undefined ? {} : { project }) };
  if (project === undefined) delete result.spec.project;
  return { metadata: result.metadata, spec: result.spec };
}
