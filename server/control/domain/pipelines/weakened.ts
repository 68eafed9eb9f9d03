import { expressionsIn, parseCondition } from "../../../../openapi/rules/pipelines/condition.ts";
import type { Expression } from "../../../../openapi/rules/pipelines/expression.ts";
import {
  ancestorsOf,
  needsOf,
  type PipelineSpec,
  type PipelineStep,
} from "../../../../openapi/rules/pipelines/graph.ts";
import { canonical } from "../../../base/json/canonical.ts";

/** A change that takes something from an approval. */
export interface Weakened {
  /** The approval's step. */
  step: string;
  /** In the new pipeline; the whole of it when the approval is gone. */
  pointer: string;
  why: string;
}

type Approval = NonNullable<PipelineStep["approval"]>;

/** An approval that one editor alone cannot give: for it, the role editor is not enough to take it away. */
export const isStrict = ({ role = "admin", minimum = 1, excludeRequester = false }: Approval): boolean =>
  role === "admin" || minimum > 1 || excludeRequester;

/**
 * What a change of a pipeline takes from its strict approvals: they are removed, ask for less, come earlier, may be left out, or a task that could
 * not start without one now can. No new pipeline means that it is deleted.
 */
export function weakenedBy(before: PipelineSpec, after: PipelineSpec | undefined): Weakened[] {
  return before.steps.flatMap((step, index) => {
    if (!step.approval || !isStrict(step.approval)) return [];
    const found = after ? weakening(before, index, after) : { pointer: "", why: "it is removed" };
    return found ? [{ step: step.id, ...found }] : [];
  });
}

function weakening(before: PipelineSpec, index: number, after: PipelineSpec): Omit<Weakened, "step"> | undefined {
  const old = before.steps[index]!;
  const at = after.steps.findIndex(({ id }) => id === old.id);
  const now = after.steps[at];
  if (!now?.approval) return { pointer: now ? `/spec/steps/${at}` : "/spec/steps", why: "it is removed or renamed" };
  const pointer = `/spec/steps/${at}`;
  const less = askedLess(old.approval!, now.approval);
  if (less) return { pointer: `${pointer}/approval/${less}`, why: `\`${less}\` asks for less, or says something else` };
  if ((old.when ?? "success") !== (now.when ?? "success"))
    return { pointer: `${pointer}/when`, why: "`when` is changed" };
  if (old.condition !== now.condition) return { pointer: `${pointer}/condition`, why: "`condition` is changed" };
  const moved = [...ancestorsOf(before, index)].find(
    (id) => after.steps.some((step) => step.id === id) && !ancestorsOf(after, at).has(id),
  );
  if (moved) return { pointer: `${pointer}/needs`, why: `it no longer comes after \`${moved}\`` };
  const decides = old.condition === undefined ? undefined : changedOperand(old.condition, before, after);
  if (decides) return { pointer: decides.pointer, why: `its condition reads \`${decides.name}\`, which is changed` };
  const open = before.steps.find((step, i) => {
    const j = after.steps.findIndex(({ id }) => id === step.id);
    return step.task && after.steps[j]?.task && gatesOf(before, i).has(old.id) && !gatesOf(after, j).has(old.id);
  });
  if (!open) return undefined;
  const where = after.steps.findIndex(({ id }) => id === open.id);
  return { pointer: `/spec/steps/${where}`, why: `the task \`${open.id}\` could start without it` };
}

/** The first field in which an approval asks for less. What the approver reads counts too: a misleading message is as good as none. */
function askedLess(old: Approval, now: Approval): keyof Approval | undefined {
  if ((old.role ?? "admin") === "admin" && now.role === "editor") return "role";
  if ((now.minimum ?? 1) < (old.minimum ?? 1)) return "minimum";
  if (old.excludeRequester && !now.excludeRequester) return "excludeRequester";
  return old.message === now.message ? undefined : "message";
}

/** An input or step that a condition reads and that is not what it was. */
function changedOperand(
  condition: string,
  before: PipelineSpec,
  after: PipelineSpec,
): { name: string; pointer: string } | undefined {
  const parsed = parseCondition(condition);
  if ("fault" in parsed) return undefined;
  const of = (spec: PipelineSpec, e: Expression): unknown => {
    if (e.of === "input") return spec.inputs?.[e.name];
    return e.of === "step" ? spec.steps.find(({ id }) => id === e.step) : undefined;
  };
  const changed = expressionsIn(parsed.condition).find(
    (e) => canonical(of(before, e) ?? null) !== canonical(of(after, e) ?? null),
  );
  if (!changed) return undefined;
  const named = "name" in changed ? changed.name : "";
  const name = changed.of === "step" ? changed.step : named;
  return { name, pointer: changed.of === "step" ? "/spec/steps" : `/spec/inputs/${name}` };
}

/**
 * The approvals without which a step cannot start: when one of them fails, every step between it and this one is left out. Each step is looked at
 * once: the ways through 64 steps are more than can be counted.
 */
export function gatesOf(spec: Pick<PipelineSpec, "steps">, index: number): Set<string> {
  const at = new Map(spec.steps.map((step, i) => [step.id, i]));
  const found = new Set<string>();
  const seen = new Set<number>();
  const left = [index];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    // A step for failures, or for any case, starts after a rejection too.
    if (seen.has(next) || (spec.steps[next]!.when ?? "success") !== "success") continue;
    seen.add(next);
    for (const need of needsOf(spec, next)) {
      const where = at.get(need);
      if (where === undefined) continue;
      if (spec.steps[where]!.approval) found.add(need);
      left.push(where);
    }
  }
  return found;
}
