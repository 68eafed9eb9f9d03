import type { Schemas } from "../../../../openapi/client.ts";
import { type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import type { Terraform } from "./terraform.ts";

/** Without a backend the state would go with the task's folder, and the record of what was made would be lost. */
export async function refuseLostState(terraform: Terraform): Promise<Failure | undefined> {
  if (await terraform.backend()) return undefined;
  return stop(
    "StateNotKept",
    "the configuration keeps its state in the task's folder, which is removed: give it a backend (s3, kubernetes, http, …), with /params/backendConfig where it is partial",
  );
}

/** Applies exactly what a plan's file says. */
export function applyPlan(
  terraform: Terraform,
  file: string,
  { lockTimeoutSeconds = 60, parallelism = 10 }: Partial<Schemas["TerraformBase"]>,
): Promise<Failure | undefined> {
  return terraform.speak(
    "ApplyFailed",
    "apply",
    "-json",
    "-input=false",
    `-lock-timeout=${lockTimeoutSeconds}s`,
    `-parallelism=${parallelism}`,
    file,
  );
}

/** The outputs of the state that are not sensitive. */
export async function outputsOf(terraform: Terraform): Promise<Outcome<Record<string, unknown>>> {
  const read = await terraform.json<Record<string, { sensitive?: boolean; value: unknown }>>("output", "-json");
  if (read.kind !== "done") return read;
  const open = Object.entries(read.value).filter(([, { sensitive }]) => !sensitive);
  return { kind: "done", value: Object.fromEntries(open.map(([name, { value }]) => [name, value])) };
}
