import type { Command } from "commander";
import { stringify } from "yaml";
import type { Schemas } from "../../../openapi/client.ts";
import { type Colours, printable } from "../../base/colour.ts";
import { canonical } from "../../base/json/canonical.ts";
import { showAge } from "../../base/lang/duration.ts";
import { inParallel } from "../../base/process/parallel.ts";
import { pairs, table } from "../../base/table.ts";
import { revisionText } from "../objects/nouns.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import type { Api } from "../session/api.ts";
import { type Session, verb } from "../session/session.ts";
import { field, type Json, say, showAs } from "../show.ts";

type Entry = Schemas["HistoryEntry"];
type Commits = ReadonlyMap<string, Schemas["RevisionInfo"]>;

/** The agent reads commits from its own copy; one that is away must not hold up what the service knows. */
const COMMITS_MS = 3_000;
const ASKED_AT_ONCE = 4;

/** `app history`: what was deployed, when, from what and why. */
export function historyVerb(app: Command, io: Io): void {
  app
    .command("history")
    .argument("<id>")
    .argument("[history-id]", "one entry, with the source that it was deployed from")
    .summary("what was deployed, newest first")
    .action(
      verb(io, async (s, id: string, entry: string | undefined) => {
        const api = await s.api();
        const history = await api.call<Schemas["History"]>("getApplicationHistory", { path: { id } });
        if (entry !== undefined) return showEntry(s, api, id, entryOf(history.items, id, entry));
        if (s.format === "name") for (const h of history.items) s.io.out.write(`${h.id}\n`);
        else if (s.format === "json" || s.format === "yaml") showAs(s, history, () => "");
        else if (history.items.length === 0) say(s, s.e.dim("never deployed"));
        else showAs(s, history, () => "");
        if (history.items.length > 0 && (s.format === "table" || s.format === "wide"))
          s.io.out.write(`${historyTable(s, history.items, await commitsOf(api, id, history.items))}\n`);
      }),
    );
}

function entryOf(items: Entry[], id: string, text: string): { entry: Entry; before: Entry | undefined } {
  if (!/^\d{1,9}$/.test(text))
    throw usage(
      `the id of an entry of the history is a number, not ${JSON.stringify(text)} (outpost app history ${id})`,
    );
  const at = items.findIndex((one) => one.id === Number(text));
  const known = items.map((one) => one.id).join(", ");
  if (at < 0)
    throw new Failure(
      `the history of ${id} has no entry ${text}. ${known ? `It has ${known}.` : "Nothing was deployed yet."}`,
      EXIT.notFound,
    );
  return { entry: items[at]!, before: items[at - 1] };
}

async function showEntry(
  s: Session,
  api: Api,
  id: string,
  { entry, before }: { entry: Entry; before: Entry | undefined },
): Promise<void> {
  if (s.format === "json" || s.format === "yaml") return showAs(s, entry, () => "");
  if (s.format === "name") return void s.io.out.write(`${entry.id}\n`);
  const commit = (await commitsOf(api, id, [entry])).get(revisionOf(entry));
  const rows: [string, string][] = [
    ["entry", s.c.bold(String(entry.id))],
    ["revision", printable(revisionOf(entry))],
    ["author", printable(commit?.author ?? "")],
    ["message", printable(commit?.message?.trimEnd() ?? "")],
    ["changed", before ? changeOf(entry, before) : ""],
    ["deployed", `${entry.deployedAt} (${showAge(entry.deployedAt)} ago)`],
    ["cause", entry.cause ?? ""],
    ["by", printable(entry.initiatedBy ?? "")],
    ["images", (entry.images ?? []).map(printable).join("\n")],
  ];
  s.io.out.write(`${pairs(rows.filter(([, text]) => text))}\n`);
  const source = entry.sources ?? entry.source;
  if (source)
    s.io.out.write(
      `\n${s.c.bold("Source")}\n${printable(stringify(source, { lineWidth: 0 }))
        .replace(/^(?=.)/gm, "  ")
        .trimEnd()}\n`,
    );
}

/** Who made the commits and what they say, as far as the agent tells in time. */
async function commitsOf(api: Api, id: string, items: readonly Entry[]): Promise<Commits> {
  const found = new Map<string, Schemas["RevisionInfo"]>();
  const revisions = [...new Set(items.map(revisionOf))].filter((revision) => /^[0-9a-f]{40,64}$/.test(revision));
  const asking = inParallel(
    revisions,
    async (revision) => {
      try {
        found.set(
          revision,
          await api.call<Schemas["RevisionInfo"]>("getApplicationRevision", { path: { id }, query: { revision } }),
        );
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
      }
    },
    ASKED_AT_ONCE,
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, COMMITS_MS);
  });
  await Promise.race([asking, late]);
  clearTimeout(timer);
  return new Map(found);
}

const revisionOf = (entry: Entry): string => entry.revision ?? entry.revisions?.[0] ?? "";

function historyTable(s: Session, items: readonly Entry[], commits: Commits): string {
  const wide = s.format === "wide";
  const c: Colours = s.c;
  const rows = items.map((h, at) => {
    const commit = commits.get(revisionOf(h));
    const images = (h.images ?? []).map((image) => printable(wide ? image : shortImage(image)));
    return [
      c.bold(String(h.id)),
      wide ? h.deployedAt : `${showAge(h.deployedAt)} ago`,
      wide ? revisionOf(h) : revisionText(h),
      printable(commit?.message?.split("\n")[0] ?? "") || "-",
      printable((commit?.author ?? "").replace(/ <.*$/, "")) || "-",
      at > 0 ? changeOf(h, items[at - 1]!) : "first",
      images.slice(0, wide ? undefined : 2).join(", ") + (!wide && images.length > 2 ? ` +${images.length - 2}` : "") ||
        "-",
      field(h, "cause") || "-",
      field(h, "initiatedBy") || "-",
    ];
  });
  const heads = ["ID", wide ? "DEPLOYED" : "AGE", "REVISION", "MESSAGE", "AUTHOR", "CHANGED", "IMAGES", "CAUSE", "BY"];
  return table(heads.map(c.bold), rows.reverse(), s.io.out.isTTY && !wide ? s.io.out.columns : undefined);
}

/** `ghcr.io/acme/web:v2` as `web:v2`; a digest by its beginning. */
const shortImage = (image: string): string =>
  image.slice(image.lastIndexOf("/") + 1).replace(/(@sha256:[0-9a-f]{8})[0-9a-f]+$/, "$1");

const PARTS: readonly (readonly [string, string])[] = [
  ["helm", "values"],
  ["kustomize", "kustomize settings"],
  ["directory", "directory settings"],
  ["plugin", "plugin settings"],
  ["path", "path"],
  ["chart", "chart"],
  ["repoURL", "repository"],
];

/** In what an entry differs from the one before it. */
export function changeOf(entry: Entry, before: Entry): string {
  const [now, then] = [sourcesOf(entry), sourcesOf(before)];
  const known = now.length > 0 && then.length > 0;
  const parts = PARTS.filter(
    ([key]) => known && canonical(now.map((one) => one[key])) !== canonical(then.map((one) => one[key])),
  );
  const commit = revisionOf(entry) !== revisionOf(before) || String(entry.revisions) !== String(before.revisions);
  const words = [...(commit ? ["revision"] : []), ...parts.map(([, word]) => word)];
  if (known && now.length !== then.length) words.push("sources");
  return words.length ? `${words.join(", ")} changed` : "nothing changed";
}

const sourcesOf = ({ source, sources }: Entry): Json[] => sources ?? (source ? [source] : []);
