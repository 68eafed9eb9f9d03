import type { Schemas } from "../../../openapi/client.ts";
import type { TaskKindHandler } from "../kind.ts";
import type { Sandbox } from "../sandbox/protection.ts";
import { KINDS } from "./generated/table.ts";

export { KINDS };

/** The kind of that name, or undefined; never a member of Object's. */
export const tryKind = (name: string): TaskKindHandler | undefined =>
  Object.hasOwn(KINDS, name) ? KINDS[name as Schemas["TaskKind"]] : undefined;

/** What this installation can run, and why it cannot run the rest. */
export async function capabilities(
  env: NodeJS.ProcessEnv,
  { cannotBuild }: Pick<Sandbox, "cannotBuild"> = {},
): Promise<{ able: string[]; lacking: { kind: string; why: string }[] }> {
  const checked = await Promise.all(
    Object.entries(KINDS).map(async ([kind, { lacks }]) => ({ kind, why: await lacks(env, cannotBuild) })),
  );
  return {
    able: checked.filter(({ why }) => why === undefined).map(({ kind }) => kind),
    lacking: checked.flatMap(({ kind, why }) => (why === undefined ? [] : [{ kind, why }])),
  };
}
