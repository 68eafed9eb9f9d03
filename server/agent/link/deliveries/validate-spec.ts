import type { Fault } from "../../../../openapi/contract/validators.js";
import { done, type Outcome, stop } from "../../../base/outcome.ts";

type Check<T> = ((value: unknown) => value is T) & { errors?: Fault[] | null };

/** A delivered spec as this agent's own contract knows it; a newer service may know more. */
export function fits<T>(check: Check<T>, spec: unknown): Outcome<T> {
  if (check(spec)) return done(spec);
  const fault = check.errors?.[0];
  const what = `${fault?.instancePath ?? ""} ${fault?.message ?? ""}`.trim();
  return stop("SpecInvalid", `the specification does not fit this agent's contract: ${what}; upgrade the agent`);
}

/** The AppProject that an object belongs to; nothing when it belongs to none. */
export function projectOf(
  spec: { appProject?: string | undefined },
  resolved: { appProject?: string } | undefined,
): Outcome<string | undefined> {
  if (!spec.appProject || resolved?.appProject) return done(resolved?.appProject);
  return stop(
    "ProjectNotResolved",
    `it names app project "${spec.appProject}", which the service did not resolve: look whether it still exists`,
  );
}
