/** One step of a path: into an attribute, a map's element, or a list's element. */
export type Step = { readonly attr: string } | { readonly key: string } | { readonly index: number };
/** Where in a value something is. Sets have no addressable elements, so a path ends at the set. */
export type Path = readonly Step[];

export const root: Path = [];
export const attr = (path: Path, name: string): Path => [...path, { attr: name }];
export const key = (path: Path, name: string): Path => [...path, { key: name }];
export const index = (path: Path, at: number): Path => [...path, { index: at }];

/** The path as a person writes it: `source.helm.parameters[0]`, `labels["a"]`. */
export function print(path: Path): string {
  let out = "";
  for (const step of path) {
    if ("attr" in step) out += `${out && "."}${step.attr}`;
    else out += "key" in step ? `[${JSON.stringify(step.key)}]` : `[${step.index}]`;
  }
  return out;
}
