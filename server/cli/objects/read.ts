import { type Command, Option } from "commander";
import type { OperationId } from "../../../openapi/contract/operations.ts";
import { inParallel } from "../../base/process/parallel.ts";
import { usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { field, type Json, rowsOf, show, showAs } from "../show.ts";
import { columnsOf, isDiscovered, ORIGINS } from "./adopt.ts";
import { describe } from "./describe.ts";
import { withKind } from "./documents.ts";
import { explainer, KEEP_WAITING, markStale, needsSync, staleOf } from "./explain.ts";
import { follow } from "./follow.ts";
import { allOf } from "./list/all.ts";
import { forEach } from "./list/many.ts";
import { chosen, FILTER, filterOf, hasLabels, SELECTOR, type Selection, selectFlags } from "./list/select.ts";
import { sortBy } from "./list/sort.ts";
import { application, manyOf, type Noun } from "./nouns.ts";
import { deleteVerb } from "./verbs/delete.ts";
import { waitFor, waitGone } from "./wait.ts";

interface ListFlags extends Omit<Selection, "all"> {
  origin?: string;
  inherited?: boolean;
  limit?: string;
  sortBy?: string;
  watch?: boolean;
}
interface WaitFlags extends Selection {
  for: string;
  timeout: string;
  keepWaiting?: boolean;
}

const isData = ({ format }: Session): boolean => format === "json" || format === "yaml";

/** Whether rows say the state of something in a cluster, which is old while the agent is away. Data stays as the service gave it. */
const goesStale = (s: Session, noun: Noun): boolean => noun.word === "app" && !isData(s) && s.format !== "name";

/** `list`, `get`, `delete`, `wait` and `watch` of one noun. */
export function readVerbs(parent: Command, io: Io, noun: Noun): void {
  const list = parent
    .command("list")
    .alias("ls")
    .summary(`list ${manyOf(noun)}`)
    .option(...FILTER)
    .option(
      "--sort-by <field>",
      "in the order of a column or of a field such as `createdAt`; `-age` the other way round",
    )
    .option("--inherited", "also those of the scopes below this one")
    .option("--limit <n>", "at most so many")
    .option("-w, --watch", "go on with the changes, until Ctrl-C");
  if (hasLabels(noun)) list.option(...SELECTOR);
  if (isDiscovered(noun)) list.addOption(new Option("--origin <origin>", "only those of this origin").choices(ORIGINS));
  list.action(verb(io, (s, flags: ListFlags) => listAll(s, noun, flags)));

  parent
    .command("get <id>")
    .alias("describe")
    .summary("show one")
    .action(
      verb(io, async (s, id: string) => {
        const api = await s.api();
        const object = await api.call<Json>(`get${noun.schema}` as OperationId, { path: { id } });
        const stale = goesStale(s, noun) ? await staleOf(api, [object]) : new Map<Json, string>();
        const columns = markStale(noun.columns, stale);
        if (s.format === "name" || s.format === "wide")
          show(s, [object], columns, { name: (o) => `${noun.word}/${o.id}` });
        else showAs(s, withKind(noun, object), () => describe(object, noun, s.c, stale.get(object)));
      }),
    );

  deleteVerb(parent, io, noun);

  const goals = ["ready", "deleted", ...(noun.word === "app" ? ["synced", "healthy"] : [])];
  const wait = parent
    .command("wait [ids...]")
    .summary(noun.word === "app" ? "wait until they are Synced and Healthy" : "wait until they are ready")
    .addOption(new Option("--for <state>", "what to wait for").choices(goals).default("ready"))
    .option("--timeout <duration>", "how long to wait", "5m");
  selectFlags(wait, noun);
  if (noun.word === "app") wait.option(...KEEP_WAITING);
  wait.action(
    verb(io, async (s, ids: string[], flags: WaitFlags) => {
      const all = await chosen(s, noun, ids, flags);
      if (flags.for === "deleted") await inParallel(all, (id) => waitGone(s, noun, id, flags.timeout));
      else await forEach(s, noun, all, (each, id) => waitOne(each, noun, id, flags));
    }),
  );

  parent
    .command("watch [id]")
    .summary("show changes as they happen, until Ctrl-C")
    .action(verb(io, async (s, id: string | undefined) => watch(s, noun, id)));
}

async function listAll(s: Session, noun: Noun, flags: ListFlags): Promise<void> {
  const api = await s.api();
  const filter = [filterOf(flags), flags.origin && `origin=${flags.origin}`].filter(Boolean).join(",") || undefined;
  if (flags.watch && (filter || flags.sortBy || flags.limit))
    throw usage(
      "--watch shows every change of the scope: leave --filter, --selector, --origin, --sort-by and --limit out",
    );
  if (flags.watch) return watch(s, noun, undefined, flags.inherited);
  const found = sortBy(await allOf(api, noun, { ...flags, filter }), flags.sortBy, noun.columns);
  const stale = goesStale(s, noun) ? await staleOf(api, found) : new Map<Json, string>();
  const objects = isData(s) ? found.map((object) => withKind(noun, object)) : found;
  show(s, objects, markStale(columnsOf(noun, objects), stale), {
    name: (o) => `${noun.word}/${o.id}`,
    empty: `no ${manyOf(noun)} here`,
  });
}

async function waitOne(s: Session, noun: Noun, id: string, flags: WaitFlags): Promise<Json> {
  const explain = noun.word === "app" ? explainer(await s.api(), id, !flags.keepWaiting, needsSync) : undefined;
  const holds = (o: Json) => reached(noun, o, flags.for);
  return waitFor(s, noun, id, { timeout: flags.timeout, holds, ...(explain ? { explain } : {}) });
}

function reached(noun: Noun, o: Json, goal: string) {
  const now = noun.readiness(o);
  const seen = (o.status?.observedGeneration ?? 0) >= o.generation;
  if (goal === "synced" && seen && o.status?.sync?.status === "Synced") return { ready: true, reason: "Synced" };
  if (goal === "healthy" && seen && o.status?.health?.status === "Healthy") return { ready: true, reason: "Healthy" };
  return goal === "ready" ? now : { ...application(o), ready: false };
}

async function watch(s: Session, noun: Noun, id?: string, inherited?: boolean): Promise<void> {
  const api = await s.api();
  if (id) await api.call(`get${noun.schema}` as OperationId, { path: { id } });
  let heads = true;
  for await (const change of follow(api, noun, { id, inherited }, s.io.signal)) {
    if (change.event === "bookmark") continue;
    if (s.format === "json" || s.format === "yaml")
      s.io.out.write(`${JSON.stringify({ event: change.event, object: change.object })}\n`);
    else if (s.format === "name") s.io.out.write(`${change.event} ${noun.word}/${field(change.object, "id")}\n`);
    else if (change.event === "delete") s.io.out.write(`${field(change.object, "id")}  ${s.c.red("deleted")}\n`);
    else {
      s.io.out.write(`${rowsOf(s, [change.object], noun.columns, heads)}\n`);
      heads = false;
    }
  }
}
