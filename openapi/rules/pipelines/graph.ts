import type { components } from "../../contract/types.ts";

export type PipelineSpec = components["schemas"]["PipelineSpec"];
export type PipelineStep = PipelineSpec["steps"][number];

/** What a step waits for: what it names, else the step before it. */
export function needsOf(spec: Pick<PipelineSpec, "steps">, index: number): readonly string[] {
  const step = spec.steps[index]!;
  const before = spec.steps[index - 1];
  return step.needs ?? (before ? [before.id] : []);
}

/** The first circle among the steps as `a → b → a`, with the index of its first step. */
export function findCycle(spec: Pick<PipelineSpec, "steps">): { index: number; text: string } | undefined {
  const at = new Map(spec.steps.map((step, i) => [step.id, i]));
  const done = new Set<string>();
  for (const { id } of spec.steps) {
    const circle = walk(id, []);
    if (circle) return { index: at.get(circle[0]!)!, text: circle.join(" → ") };
  }
  return undefined;

  // At most 64 steps, so at most 64 deep.
  function walk(id: string, path: string[]): string[] | undefined {
    const known = path.indexOf(id);
    if (known >= 0) return [...path.slice(known), id];
    const index = at.get(id);
    if (done.has(id) || index === undefined) return undefined;
    for (const need of needsOf(spec, index)) {
      const circle = walk(need, [...path, id]);
      if (circle) return circle;
    }
    done.add(id);
    return undefined;
  }
}

/** The steps that have certainly ended before a step starts. */
export function ancestorsOf(spec: Pick<PipelineSpec, "steps">, index: number): Set<string> {
  const at = new Map(spec.steps.map((step, i) => [step.id, i]));
  const found = new Set<string>();
  const left = [...needsOf(spec, index)];
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    const where = at.get(id);
    if (found.has(id) || where === undefined) continue;
    found.add(id);
    left.push(...needsOf(spec, where));
  }
  return found;
}
