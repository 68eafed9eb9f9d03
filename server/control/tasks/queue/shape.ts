import { canonical, digest } from "../../../base/json/canonical.ts";
import type { ApprovalGiven } from "../../domain/approval.ts";
import type { Scope } from "../../domain/scope.ts";

/** What decides who may take a task. */
export interface Shaped extends Scope {
  kind: string;
  selectors: readonly string[];
  approval?: ApprovalGiven | undefined;
}

/** All shapes of a scope begin with this, so that a scope's part of the queue is one range of its index. */
export const shapePrefix = (scope: Scope): string => digest(`${scope.org}/${scope.project}`).slice(0, 12);

/** The shape of a task: equal for tasks that the same workers can take. */
export function shapeOf(t: Shaped): string {
  return `${shapePrefix(t)}-${digest(`${t.kind}\n${[...new Set(t.selectors)].sort().join("\n")}${t.approval ? `\n\n${canonical(t.approval)}` : ""}`).slice(0, 20)}`;
}
