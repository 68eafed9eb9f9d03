import { adminKeyFile } from "./service.ts";
import type { Memory } from "./state.ts";

/** Runs the command line and gives its standard output. */
export type Run = (...args: string[]) => Promise<string>;

interface Context {
  id: string;
  endpoint: string;
  current: boolean;
}
const contextsOf = async (run: Run): Promise<Context[]> =>
  (JSON.parse(await run("context", "list", "-o", "json")) as { items: Context[] }).items;

const NAME = "quickstart";

/** The context of this quickstart. */
export const contextOf = (memory: Memory): string => memory.state.context ?? NAME;

/**
 * Signs the command line in under a context of its own. One of the same name that is for another service is the user's and stays, and so does
 * the current one: only where there is none this becomes it.
 */
export async function signIn(run: Run, memory: Memory, address: string): Promise<void> {
  const contexts = await contextsOf(run);
  const isFree = (name: string) => contexts.every(({ id, endpoint }) => id !== name || endpoint === address);
  const names = [contextOf(memory), NAME, ...Array.from({ length: contexts.length }, (_, n) => `${NAME}-${n + 2}`)];
  const context = names.find(isFree)!;
  const current = contexts.find((one) => one.current)?.id;
  memory.remember({ context });
  await run("login", address, "--name", context, "--key-file", adminKeyFile(memory.path("service")));
  if (current && current !== context) await run("context", "use", current);
  memory.remember({ isCurrent: !current || current === context });
}

export async function signOut(run: Run, memory: Memory): Promise<void> {
  const name = memory.state.context;
  if (name && (await contextsOf(run)).some(({ id }) => id === name)) await run("logout", name);
}
