import type { Command } from "commander";
import { forEach } from "../objects/list/many.ts";
import { chosen, type Selection, selectFlags } from "../objects/list/select.ts";
import { nounOf } from "../objects/nouns.ts";
import { EXIT, Failure } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { type Json, say } from "../show.ts";

const APP = nounOf("app")!;

/** `app refresh`: look at Git again. */
export function refreshVerb(app: Command, io: Io): void {
  const refresh = app
    .command("refresh [ids...]")
    .summary("look at Git again without touching the cluster")
    .option("--hard", "also forget cached manifests");
  selectFlags(refresh, APP).action(
    verb(io, async (s, ids: string[], flags: Selection & { hard?: boolean }) => {
      const body = flags.hard ? { hard: true } : {};
      await forEach(s, APP, await chosen(s, APP, ids, flags), async (each, id) => {
        const object = await (await each.api()).call<Json>("refreshApplication", { path: { id }, body });
        if (isTable(s)) say(each, `${s.e.green("✓")} app ${s.e.bold(id)} is being refreshed`);
        return object;
      });
    }),
  );
}

/** `app suspend` and `app resume`: no syncs by itself for a while; what is set about them is kept. */
export function pauseVerbs(app: Command, io: Io): void {
  const one = (name: string, summary: string, enabled: boolean) =>
    selectFlags(app.command(`${name} [ids...]`).summary(summary), APP).action(
      verb(io, async (s, ids: string[], flags: Selection) =>
        forEach(s, APP, await chosen(s, APP, ids, flags), (each, id) => setAutomated(each, id, enabled)),
      ),
    );
  one("suspend", "stop syncing by itself; what is set about that is kept, and `app sync` still works", false);
  one("resume", "sync by itself again after `app suspend`", true);
}

async function setAutomated(s: Session, id: string, enabled: boolean): Promise<Json> {
  const api = await s.api();
  const found = await api.call<Json>("getApplication", { path: { id } });
  const automated = found.spec?.syncPolicy?.automated;
  const tell = (text: string) => isTable(s) && say(s, `${s.e.green("✓")} app ${s.e.bold(id)} ${text}`);
  if (!automated && enabled)
    throw new Failure(`app ${id} has never synced by itself`, EXIT.conflict, {
      hint: `outpost app set ${id} --auto-sync`,
    });
  if (!automated || (automated.enabled !== false) === enabled) {
    tell(enabled ? "syncs by itself already" : "does not sync by itself already");
    return found;
  }
  const body = { spec: { syncPolicy: { automated: { enabled } } } };
  const headers = { "if-match": `"${found.version}"` };
  const changed = await api.call<Json>("patchApplication", { path: { id }, body, headers });
  tell(enabled ? "syncs by itself again" : "no longer syncs by itself");
  return changed;
}

const isTable = ({ format }: Session): boolean => format === "table" || format === "wide";
