import type { Command } from "commander";
import type { Schemas } from "../../openapi/client.ts";
import { allOf } from "./objects/list/all.ts";
import { NOUNS, type Noun, nounOf } from "./objects/nouns.ts";
import { Failure } from "./output/failure.ts";
import type { Io } from "./output/io.ts";
import { Api } from "./session/api.ts";
import { readSettings, resolveTarget } from "./session/settings.ts";
import type { Json } from "./show.ts";

/** A shell waits for the answer while a person types. */
const DEADLINE_MS = 2_000;
const MOST = "200";

/** What stands on the line before the word that is typed. */
export interface Typed {
  command: Command;
  /** The option whose value is typed, as `agent`. */
  option?: string | undefined;
  /** The arguments before it. */
  args: readonly string[];
  flags: Readonly<Record<string, string>>;
}

/** Ids and other values that only the service knows. Says nothing when it cannot be asked: completion never fails. */
export async function valuesFor(io: Io, typed: Typed): Promise<string[]> {
  try {
    if (typed.option === "context") return Object.keys((await readSettings(io)).contexts);
    const target = await resolveTarget(io, typed.flags);
    const signal = AbortSignal.any([io.signal, AbortSignal.timeout(DEADLINE_MS)]);
    return await ask(new Api(target, { ...io, signal }), typed);
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

async function ask(api: Api, { command, option, args }: Typed): Promise<string[]> {
  if (option !== undefined) {
    const noun = BY_OPTION[option] && nounOf(BY_OPTION[option]);
    return noun ? ids(api, noun) : [];
  }
  const argument = command.registeredArguments[Math.min(args.length, command.registeredArguments.length - 1)]?.name();
  const words = [command.parent?.name() ?? "", command.name()];
  if (argument === "ids" || (argument === "id" && args.length === 0)) return idsOf(api, words[0]!);
  if (argument === "resource" && words[0] === "app") return resources(api, args[0]!);
  if (argument === "history-id") {
    const { items } = await api.call<Schemas["History"]>("getApplicationHistory", { path: { id: args[0]! } });
    return items.map(({ id }) => String(id));
  }
  return [];
}

/** Options that name an object, and its noun. */
const BY_OPTION: Readonly<Record<string, string>> = {
  agent: "agent",
  repository: "repo",
  "argo-project": "appproject",
  "dest-cluster": "cluster",
  org: "org",
  project: "project",
  pipeline: "pipeline",
};

async function idsOf(api: Api, word: string): Promise<string[]> {
  if (word === "task")
    return (await api.call<Schemas["TaskList"]>("listTasks", { query: { limit: 50 } })).items.map(({ id }) => id);
  if (word === "run")
    return (await api.call<Schemas["RunList"]>("listRuns", { query: { limit: 50 } })).items.map(({ id }) => id);
  if (word === "apikey") return (await api.call<Schemas["ApiKeyList"]>("listApiKeys")).items.map(({ id }) => id);
  const noun = NOUNS.find((one) => one.word === word);
  return noun ? ids(api, noun) : [];
}

const ids = async (api: Api, noun: Noun): Promise<string[]> =>
  (await allOf(api, noun, { limit: MOST })).map(({ id }) => id as string);

async function resources(api: Api, id: string): Promise<string[]> {
  const app = await api.call<Json>("getApplication", { path: { id } });
  return ((app.status?.resources ?? []) as Json[]).map(({ kind, name }) => `${kind}/${name}`);
}
