import type { Command } from "commander";
import contract from "../../../openapi/contract/openapi.json" with { type: "json" };
import type { OperationId } from "../../../openapi/contract/operations.ts";
import { mergePatch } from "../../base/json/merge-patch.ts";
import { Failure, usage } from "../output/failure.ts";
import { addFlags, type Flag, objectOf, setPath, specFlagsOf } from "../output/flags.ts";
import { type Io, readInput } from "../output/io.ts";
import type { Scope } from "../session/api.ts";
import { type Session, verb } from "../session/session.ts";
import { type Json, say, show } from "../show.ts";
import { isDiscovered } from "./adopt.ts";
import { readDocuments } from "./documents.ts";
import type { Noun } from "./nouns.ts";
import { forgetKey, sealCredentials } from "./seal.ts";

interface WriteFlags extends Record<string, unknown> {
  filename?: string[];
  set?: string[];
  ifMatch?: string;
  move?: boolean;
  adopt?: boolean;
}
type Sent = { noun: Noun; id: string; scope: Scope; spec: Json };

const MOVE = "let objects move to another `agent`; the one before gives them up and deletes nothing in a cluster";
const ADOPT = "take over discovered objects, which the service shows and did not make";
const document = contract as unknown as { components: { schemas: Record<string, Json> } };
const collect = (text: string, before: string[] | undefined): string[] => [...(before ?? []), text];

/** `create`, `apply` and `patch` of one noun. The flags are those of the contract. */
export function writeVerbs(parent: Command, io: Io, noun: Noun): void {
  const flags = specFlagsOf(`${noun.schema}Spec`);
  const command = (name: string, summary: string) =>
    addFlags(parent.command(name).summary(summary), flags).option(
      "--set <path=value>",
      "any other field of spec, such as `--set source.helm.skipCrds=true`",
      collect,
    );

  command("create [id]", `create one; fails when it is there already`)
    .option("-f, --filename <file>", "the object as YAML or JSON, `-` for standard input", collect)
    .action(
      verb(io, async (s, id: string | undefined, given: WriteFlags) => {
        await each(
          s,
          await toSend(s, noun, flags, id, given),
          async (one) => put(s, one, { "if-none-match": "*" }),
          "created",
        );
      }),
    );
  command("apply [id]", `create it or make it equal to what is given`)
    .option("-f, --filename <file>", "the objects as YAML or JSON, `-` for standard input", collect)
    .option("--if-match <version>", "only when this is still the newest version")
    .option("--move", MOVE)
    .option("--adopt", ADOPT)
    .action(
      verb(io, async (s, id: string | undefined, given: WriteFlags) => {
        await each(
          s,
          await toSend(s, noun, flags, id, given),
          async (one) => put(s, one, ifMatch(given), given),
          "applied",
        );
      }),
    );
  command("patch <id>", `change only the fields that are given (\`--set field=null\` removes one)`)
    .alias("set")
    .option("--if-match <version>", "only when this is still the newest version")
    .option("--move", MOVE)
    .option("--adopt", ADOPT)
    .action(
      verb(io, async (s, id: string, given: WriteFlags) => {
        const spec = await fromFlags(s, flags, given);
        if (Object.keys(spec).length === 0) throw usage("nothing to change: give a flag");
        await each(
          s,
          [{ noun, id, scope: (await s.api()).scope, spec }],
          async (one) => patch(s, one, ifMatch(given), given),
          "changed",
        );
      }),
    );
}

/** `outpost apply -f FILE`: objects of any kind, in the order in which they can be created. */
export function applyVerb(root: Command, io: Io): void {
  root
    .command("apply")
    .summary("create or change every object of a file")
    .requiredOption(
      "-f, --filename <file>",
      "YAML or JSON with `kind`, `id` and `spec` for each object; `-` for standard input",
      collect,
    )
    .option("--move", MOVE)
    .option("--adopt", ADOPT)
    .action(
      verb(io, async (s, given: WriteFlags) => {
        await each(
          s,
          await fromFiles(s, undefined, given.filename ?? []),
          async (one) => put(s, one, {}, given),
          "applied",
        );
      }),
    );
}

async function toSend(
  s: Session,
  noun: Noun,
  flags: Flag[],
  id: string | undefined,
  given: WriteFlags,
): Promise<Sent[]> {
  const spec = await fromFlags(s, flags, given);
  if (given.filename) {
    if (id || Object.keys(spec).length) throw usage("give either a file or an id with flags, not both");
    return fromFiles(s, noun, given.filename);
  }
  if (!id) throw usage(`an id is missing: outpost ${noun.word} create ID, or -f FILE`);
  // No destination means the agent's own cluster; the contract wants that said.
  if (noun.word === "app") spec.destination ??= {};
  return [{ noun, id, scope: (await s.api()).scope, spec }];
}

async function fromFlags(s: Session, flags: Flag[], given: WriteFlags): Promise<Json> {
  const spec = await objectOf(s.io, flags, given);
  for (const text of given.set ?? []) setPath(spec, text);
  return spec;
}

async function fromFiles(s: Session, noun: Noun | undefined, files: string[]): Promise<Sent[]> {
  const { scope } = await s.api();
  const texts = await Promise.all(files.map((file) => readInput(s.io, file)));
  return texts
    .flatMap((text, i) => readDocuments(text, files[i]!, noun, scope))
    .sort((a, b) => a.noun.order - b.noun.order);
}

async function put(s: Session, one: Sent, headers: Record<string, string>, allowed: Allowed = {}): Promise<Json> {
  const { noun, id, scope, spec } = one;
  const api = await s.api();
  const sealed = spec.credentials ? await sealCredentials(s.io, api, noun.collection, one, spec) : spec;
  const stored = await api.call<Json>(`put${noun.schema}` as OperationId, {
    path: { id },
    scope,
    body: { spec: sealed },
    headers,
    ...allowing(noun, allowed),
  });
  if (noun.collection === "agents" && headers["if-none-match"]) forgetKey(s.io, api, one);
  if (noun.word === "repo" && spec.agent && spec.url) await warnOfTwins(s, one);
  return stored;
}

/** Two registrations of one address for one agent: which one lends its credentials is then no longer plain. */
async function warnOfTwins(s: Session, { id, scope, spec }: Sent): Promise<void> {
  const api = await s.api();
  const filter = `spec.agent=${JSON.stringify(spec.agent)},spec.url=${JSON.stringify(spec.url)}`;
  const call = { query: { filter, limit: 10 }, scope };
  const found = await api.call<{ items?: Json[] }>("listRepositories", call).catch((error: unknown) => {
    // What was written stays written, also where the key may not list.
    if (error instanceof Failure) return { items: [] };
    throw error;
  });
  const twins = (found.items ?? []).filter((one) => one.id !== id).map((one) => String(one.id));
  if (twins.length > 0)
    s.io.err.write(
      `${s.e.yellow("warning:")} ${twins.join(", ")} ${twins.length === 1 ? "has" : "have"} the same address for agent ${spec.agent}; one is enough\n`,
    );
}

type Allowed = Pick<WriteFlags, "move" | "adopt">;

/** Only what an agent holds can move to another one, and only some of that can be discovered. */
function allowing(noun: Noun, { move, adopt }: Allowed) {
  const movable = document.components.schemas[`${noun.schema}Spec`]?.properties?.agent?.["x-moves"];
  const query = { ...(move && movable ? { move } : {}), ...(adopt && isDiscovered(noun) ? { adopt } : {}) };
  return Object.keys(query).length ? { query } : {};
}

async function patch(s: Session, one: Sent, headers: Record<string, string>, allowed: Allowed = {}): Promise<Json> {
  const { noun, id, scope, spec } = one;
  const api = await s.api();
  let sealed = spec;
  if (spec.credentials) {
    const stored = await api.call<Json>(`get${noun.schema}` as OperationId, { path: { id }, scope });
    sealed = await sealCredentials(s.io, api, noun.collection, one, mergePatch(stored.spec, spec) as Json);
  }
  return api.call<Json>(`patch${noun.schema}` as OperationId, {
    path: { id },
    scope,
    body: { spec: sealed },
    headers,
    ...allowing(noun, allowed),
  });
}

async function each(s: Session, all: Sent[], send: (one: Sent) => Promise<Json>, done: string): Promise<void> {
  const results: Json[] = [];
  for (const one of all) {
    results.push(await send(one));
    if (s.format === "table" || s.format === "wide")
      say(s, `${s.e.green("✓")} ${one.noun.word} ${s.e.bold(one.id)} ${done}`);
  }
  if (s.format !== "table" && s.format !== "wide") show(s, results, [], { one: results.length === 1 });
}

const ifMatch = (given: WriteFlags): Record<string, string> =>
  given.ifMatch ? { "if-match": quoted(given.ifMatch) } : {};
/** A version as `get` shows it, or the ETag as it was received. */
export const quoted = (version: string): string =>
  version.startsWith('"') || version.startsWith("W/") ? version : `"${version}"`;
