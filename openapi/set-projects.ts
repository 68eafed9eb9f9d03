type Json = Record<string, unknown>;

/** A place of an application set that names the project of its applications, as a JSON pointer into its spec. */
export interface NamedProject {
  pointer: string;
  /** As it is written; undefined where nothing is, which means `default`. */
  project: unknown;
}

/**
 * Every place where a set names the project of its applications: its template, each generator's own template, at any depth, and its
 * patch. The service and the agent both ask, so that neither overlooks a place that the other one knows.
 */
export function projectsOfSet(spec: {
  template?: unknown;
  templatePatch?: unknown;
  generators?: unknown;
}): NamedProject[] {
  const generators = Array.isArray(spec.generators) ? spec.generators : [];
  const base = projectIn(spec.template);
  const own = generators.flatMap((entry, i) => templatesOf(entry, `/spec/generators/${i}`, 0));
  // The set's template counts for each generator that brings no project of its own.
  const covered =
    generators.length > 0 &&
    generators.every((entry) => settingsOf(entry).some(([, one]) => isNamed(projectIn(one.template))));
  return [
    ...(covered && !isNamed(base) ? [] : [{ pointer: "/spec/template/spec/project", project: base }]),
    ...own,
    ...(isNamed(projectIn(spec.templatePatch))
      ? [{ pointer: "/spec/templatePatch", project: projectIn(spec.templatePatch) }]
      : []),
  ];
}

/** A project that parameters decide: it is known only when the set makes its applications. */
export const isTemplated = (project: unknown): project is string =>
  typeof project === "string" && project.includes("{{");

function templatesOf(entry: unknown, at: string, depth: number): NamedProject[] {
  // No generator is nested deeper; a longer chain is refused elsewhere.
  if (depth > 4) return [];
  return settingsOf(entry).flatMap(([kind, settings]) => {
    const project = projectIn(settings.template);
    const inner = Array.isArray(settings.generators) ? settings.generators : [];
    return [
      ...(isNamed(project) ? [{ pointer: `${at}/${kind}/template/spec/project`, project }] : []),
      ...inner.flatMap((child, i) => templatesOf(child, `${at}/${kind}/generators/${i}`, depth + 1)),
    ];
  });
}

const settingsOf = (entry: unknown): [string, Json][] =>
  isObject(entry) ? Object.entries(entry).filter((pair): pair is [string, Json] => isObject(pair[1])) : [];

const projectIn = (template: unknown): unknown =>
  isObject(template) && isObject(template.spec) ? template.spec.project : undefined;
const isNamed = (project: unknown): boolean => project !== undefined && project !== null && project !== "";
const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === "object" && !Array.isArray(value);
