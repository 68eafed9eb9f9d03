import { type Command, Option } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { type Colours, printable } from "../../base/colour.ts";
import { tryParseDuration } from "../../base/lang/duration.ts";
import { table } from "../../base/table.ts";
import { resourceName } from "../objects/nouns.ts";
import { readEvents } from "../output/events.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import type { Api } from "../session/api.ts";
import { type Session, verb } from "../session/session.ts";
import { say, showAs, state } from "../show.ts";
import { findResource, type Named, parseResource, RESOURCE, withGroup } from "./resource-name.ts";

type Event = Schemas["ApplicationEvent"];
type Line = Schemas["ApplicationLogLine"];

interface Which {
  group?: string | undefined;
  kind?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
}
interface LogFlags extends Which {
  container?: string;
  tail?: string;
  since?: string;
  previous?: boolean;
  follow?: boolean;
  timestamps?: boolean;
  timeout?: string;
}

const one = (command: Command, what: string): Command =>
  command
    .argument("<id>")
    .argument("[resource]", `${what} ${RESOURCE}`)
    .option("--kind <kind>", `${what} of this kind`)
    .option("--name <name>", "and of this name")
    .option("--group <group>", "group of the kind, as apps")
    .option("--namespace <namespace>", "where it is (default that of the destination)");

/** `app events` and `app logs`: what Kubernetes tells of an application, and what its Pods write. */
export function logVerbs(app: Command, io: Io): void {
  one(app.command("events"), "only of the object")
    .summary("what Kubernetes tells of its objects and of itself, the newest first")
    .option("--limit <number>", "at most so many", "100")
    .action(
      verb(io, async (s, id: string, resource: string | undefined, { limit, ...given }: Which & { limit: string }) => {
        const api = await s.api();
        const query = { ...(await which(api, id, resource, given)), limit: number("--limit", limit) };
        const got = await named({ api, id, of: query }, () =>
          api.call<Schemas["ApplicationEvents"]>("getApplicationEvents", { path: { id }, query }),
        );
        if (s.format === "name") for (const event of got.items) s.io.out.write(`${printable(resourceName(event))}\n`);
        else if (got.items.length === 0 && s.format !== "json" && s.format !== "yaml") say(s, s.e.dim("no events"));
        else showAs(s, got, () => eventTable(got.items, s.c));
        if (got.truncated) say(s, s.e.yellow("there are more events than are shown"));
      }),
    );
  one(app.command("logs"), "only of the object's Pods: a Pod, or what they came of,")
    .summary("what its Pods write: all, or those of one object (needs the role editor)")
    .option("--container <name>", "one container of each Pod")
    .option("-f, --follow", "go on with what is written, until Ctrl-C")
    .option("--tail <lines>", "from the end of each container's log (default: 100)")
    .option("--since <duration>", "nothing older, such as 10m")
    .option("--previous", "of the container before its last restart")
    .option("--timestamps", "when each line was written")
    .addOption(new Option("--timeout <duration>", "follow for so long").default("1h"))
    .action(verb(io, logs));
}

/** The object that the argument names, or the flags. */
async function which(api: Api, id: string, resource: string | undefined, flags: Which): Promise<Which> {
  const { group, kind, namespace, name } = flags;
  if (resource !== undefined) {
    if (kind !== undefined || name !== undefined) throw usage("give either a resource, or --kind and --name");
    const named = await withGroup(api, id, parseResource(resource, "a resource"));
    return { ...named, ...(group ? { group } : {}), ...(namespace ? { namespace } : {}) };
  }
  if ((kind === undefined) !== (name === undefined)) throw usage("--kind and --name name one object together");
  return { group, kind, namespace, name };
}

/** A question about an object. One that the application does not have is answered with near candidates. */
async function named<T>({ api, id, of }: { api: Api; id: string; of: Which }, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const refused = error instanceof Failure && error.problem?.code === "agent_refused";
    if (!refused || of.kind === undefined || of.name === undefined) throw error;
    const { nodes } = await api.call<Schemas["ResourceTree"]>("getApplicationTree", { path: { id } });
    findResource(defined(of), nodes, id);
    throw error;
  }
}

const defined = ({ group, kind, namespace, name }: Which): Named => ({
  kind: kind!,
  name: name!,
  ...(group === undefined ? {} : { group }),
  ...(namespace === undefined ? {} : { namespace }),
});

async function logs(s: Session, id: string, resource: string | undefined, flags: LogFlags): Promise<void> {
  const { timestamps, timeout, tail, follow, container, since, previous } = flags;
  const api = await s.api();
  const seconds = follow ? secondsOf(timeout ?? "1h") : undefined;
  const lines = tail === undefined ? undefined : number("--tail", tail);
  const of = await which(api, id, resource, flags);
  const query = { ...of, container, since, previous, follow, tail: lines, timeoutSeconds: seconds };
  const headers = { accept: "text/event-stream" };
  const answer = await named({ api, id, of }, () =>
    api.send("getApplicationLogs", { path: { id }, query, headers }, s.io.signal),
  );
  let several = false;
  try {
    for await (const { event, data } of readEvents(answer.body as unknown as AsyncIterable<Uint8Array>)) {
      const told = JSON.parse(data) as Partial<Line & Schemas["ApplicationLogOpen"]> & {
        reason?: string;
        message?: string;
      };
      if (event === "open") several = (told.streams?.length ?? 0) > 1;
      else if (event === "line") write(s, told as Line, { several, timestamps: timestamps === true });
      else if (event === "note") say(s, s.e.yellow(printable(told.text ?? "")));
      else if (event === "end" && !told.reason) return;
      else if (event === "end") throw new Failure(printable(told.message || told.reason!), EXIT.failed);
    }
  } catch (error) {
    if (s.io.signal.aborted) return;
    throw error;
  }
  if (!s.io.signal.aborted)
    throw new Failure("the logs ended before their end: the connection was lost", EXIT.unreachable);
}

function write(s: Session, line: Line, { several, timestamps }: { several: boolean; timestamps: boolean }): void {
  if (s.format === "json") s.io.out.write(`${JSON.stringify(line)}\n`);
  else {
    const from = several ? s.c.dim(`${printable(`${line.pod}/${line.container}`)} │ `) : "";
    s.io.out.write(`${from}${timestamps && line.at ? s.c.dim(`${printable(line.at)} `) : ""}${printable(line.text)}\n`);
  }
}

function eventTable(items: readonly Event[], c: Colours): string {
  const rows = items.map((event) => [
    printable(event.at ?? ""),
    state(event.type, c),
    printable(event.reason),
    printable(resourceName(event)),
    `${printable(event.message.split("\n")[0]!)}${(event.count ?? 1) > 1 ? c.dim(` (${event.count} times)`) : ""}`,
  ]);
  return table(["AT", "TYPE", "REASON", "RESOURCE", "MESSAGE"].map(c.bold), rows);
}

function number(flag: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw usage(`${flag} takes a number, not ${JSON.stringify(text)}`);
  return Number(text);
}

const MOST_SECONDS = 3_600;

function secondsOf(text: string): number {
  const ms = tryParseDuration(text);
  if (ms === undefined || ms < 1_000)
    throw usage(`--timeout must be a duration such as 90s or 5m, not ${JSON.stringify(text)}`);
  return Math.min(MOST_SECONDS, Math.round(ms / 1_000));
}
