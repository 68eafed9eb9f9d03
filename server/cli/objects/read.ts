import { type Command, Option } from "commander";
import type { OperationId } from "../../../openapi/contract/operations.ts";
import { usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import type { Api } from "../session/api.ts";
import { type Session, verb } from "../session/session.ts";
import { field, type Json, rowsOf, say, show, showAs } from "../show.ts";
import { columnsOf, isDiscovered, ORIGINS } from "./adopt.ts";
import { describe } from "./describe.ts";
import { withKind } from "./documents.ts";
import { explainer, KEEP_WAITING, markStale, staleOf } from "./explain.ts";
import { follow } from "./follow.ts";
import { application, listOf, manyOf, type Noun } from "./nouns.ts";
import { waitFor, waitGone } from "./wait.ts";
import { quoted } from "./write.ts";

interface ListFlags {
  filter?: string;
  origin?: string;
  inherited?: boolean;
  limit?: string;
}
interface DeleteFlags {
  ifMatch?: string;
  force?: boolean;
  cascade?: string;
  wait: boolean;
  timeout: string;
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
    .option("--filter <terms>", "terms that must all hold, such as `health!=Healthy,id~web,agent in (a,b),labels.team=shop`")
    .option("--inherited", "also those of the scopes below this one")
    .option("--limit <n>", "at most so many");
  if (isDiscovered(noun)) list.addOption(new Option("--origin <origin>", "only those of this origin").choices(ORIGINS));
  list.action(
    verb(io, async (s, flags: ListFlags) => {
      const api = await s.api();
      const found = await all(api, noun, flags);
      const stale = goesStale(s, noun) ? await staleOf(api, found) : new Map<Json, string>();
      const objects = isData(s) ? found.map((object) => withKind(noun, object)) : found;
      show(s, objects, markStale(columnsOf(noun, objects), stale), {
        name: (o) => `${noun.word}/${o.id}`,
        empty: `no ${manyOf(noun)} here`,
      });
    }),
  );

  parent
    .command("get <id>")
    .summary("show one")
    .action(
      verb(io, async (s, id: string) => {
        const api = await s.api();
        const object = await api.call<Json>(`get${noun.schema}` as OperationId, { path: { id } });
        const stale = goesStale(s, noun) ? await staleOf(api, [object]) : new Map<Json, string>();
        const columns = markStale(noun.columns, stale);
        if (s.format === "name" || s.format === "wide") show(s, [object], columns, { name: (o) => `${noun.word}/${o.id}` });
        else showAs(s, withKind(noun, object), () => describe(object, noun, s.c, stale.get(object)));
      }),
    );

  const remove = parent
    .command("delete <id>")
    .alias("rm")
    .summary("delete one")
    .option("--if-match <version>", "only when this is still the newest version")
    .option("--wait", "wait until it is gone (the default)", true)
    .option("--no-wait", "do not wait until it is gone")
    .option("--timeout <duration>", "how long to wait until it is gone", "5m");
  if (noun.force) remove.option("--force", "forget it without waiting for the agent; what is in the cluster stays");
  if (noun.cascade)
    remove.addOption(
      new Option("--cascade <how>", "what becomes of the objects in the cluster").choices(["foreground", "background", "orphan"]),
    );
  remove.action(
    verb(io, async (s, id: string, flags: DeleteFlags) => {
      const headers: Record<string, string> = flags.ifMatch ? { "if-match": quoted(flags.ifMatch) } : {};
      const query = { force: flags.force, cascade: flags.cascade };
      const answer = await (await s.api()).call<Json | "">(`delete${noun.schema}` as OperationId, { path: { id }, query, headers });
      if (answer && flags.wait) await waitGone(s, noun, id, flags.timeout);
      else say(s, `${s.e.green("✓")} ${noun.word} ${s.e.bold(id)} ${answer ? "is being deleted" : "deleted"}`);
    }),
  );

  const goals = ["ready", "deleted", ...(noun.word === "app" ? ["synced", "healthy"] : [])];
  const wait = parent
    .command("wait <id>")
    .summary(noun.word === "app" ? "wait until it is Synced and Healthy" : "wait until it is ready")
    .addOption(new Option("--for <state>", "what to wait for").choices(goals).default("ready"))
    .option("--timeout <duration>", "how long to wait", "5m");
  if (noun.word === "app") wait.option(...KEEP_WAITING);
  wait.action(
    verb(io, async (s, id: string, flags: { for: string; timeout: string; keepWaiting?: boolean }) => {
      if (flags.for === "deleted") return waitGone(s, noun, id, flags.timeout);
      const explain = noun.word === "app" ? explainer(await s.api(), id, !flags.keepWaiting) : undefined;
      const holds = (o: Json) => reached(noun, o, flags.for);
      const object = await waitFor(s, noun, id, { timeout: flags.timeout, holds, ...(explain ? { explain } : {}) });
      if (s.format !== "table") show(s, [object], noun.columns, { one: true });
    }),
  );

  parent
    .command("watch [id]")
    .summary("show changes as they happen, until Ctrl-C")
    .action(verb(io, async (s, id: string | undefined) => watch(s, noun, id)));
}

/** Every object of a collection, page by page. */
export async function all(api: Api, noun: Noun, flags: ListFlags = {}): Promise<Json[]> {
  const limit = flags.limit === undefined ? Number.POSITIVE_INFINITY : Number(flags.limit);
  if (!(limit >= 1)) throw usage(`--limit takes a number from 1, not ${JSON.stringify(flags.limit)}`);
  const items: Json[] = [];
  let cursor: string | undefined;
  do {
    const filter = [flags.filter, flags.origin && `origin=${flags.origin}`].filter(Boolean).join(",") || undefined;
    const query = { filter, inherited: flags.inherited, cursor, limit: Math.min(500, limit - items.length) };
    const page = await api.call<{ items: Json[]; nextCursor?: string }>(listOf(noun), { query });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < limit);
  return items;
}

function reached(noun: Noun, o: Json, goal: string) {
  const now = noun.readiness(o);
  const seen = (o.status?.observedGeneration ?? 0) >= o.generation;
  if (goal === "synced" && seen && o.status?.sync?.status === "Synced") return { ready: true, reason: "Synced" };
  if (goal === "healthy" && seen && o.status?.health?.status === "Healthy") return { ready: true, reason: "Healthy" };
  return goal === "ready" ? now : { ...application(o), ready: false };
}

async function watch(s: Session, noun: Noun, id: string | undefined): Promise<void> {
  const api = await s.api();
  if (id) await api.call(`get${noun.schema}` as OperationId, { path: { id } });
  let heads = true;
  for await (const change of follow(api, noun, id, s.io.signal)) {
    if (change.event === "bookmark") continue;
    if (s.format === "json" || s.format === "yaml") s.io.out.write(`${JSON.stringify({ event: change.event, object: change.object })}\n`);
    else if (s.format === "name") s.io.out.write(`${change.event} ${noun.word}/${field(change.object, "id")}\n`);
    else if (change.event === "delete") s.io.out.write(`${field(change.object, "id")}  ${s.c.red("deleted")}\n`);
    else {
      s.io.out.write(`${rowsOf(s, [change.object], noun.columns, heads)}\n`);
      heads = false;
    }
  }
}
