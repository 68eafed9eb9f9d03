import type { PipelineSpec } from "../../../../openapi/rules/pipelines/graph.ts";
import { weakenedBy } from "../../domain/pipelines/weakened.ts";
import { Problem } from "../../domain/problem.ts";
import type { Stored } from "../../store/objects/objects.ts";
import type { Call } from "../typed.ts";

/**
 * Refuses a change of a pipeline that takes something from an approval which the caller could not give alone. It is called inside the
 * transaction of the change, after it, so that every way to write an object passes here with the spec as it is stored.
 * @throws Problem
 */
export function checkApprovalsKept(
  caller: Call<"getPipeline">["caller"],
  before: Stored | undefined,
  after: Stored | undefined,
): void {
  if (before?.collection !== "pipelines" || (caller?.kind === "key" && caller.key.role === "admin")) return;
  const [first, ...more] = weakenedBy(before.spec as PipelineSpec, after?.spec as PipelineSpec | undefined);
  if (!first) return;
  const errors = [first, ...more]
    .slice(0, 20)
    .map(({ step, pointer, why }) => ({ code: "approval_kept", pointer, detail: `\`${step}\`: ${why}.` }));
  throw new Problem(
    "approval_kept",
    `The approval \`${first.step}\` may not be weakened by this key: ${first.why}. Ask an admin of this scope to make the change.`,
    { ...(after ? { pointer: first.pointer } : {}), errors },
  );
}
