import type { ServerResponse } from "node:http";
import { stillValid } from "../../access/authenticate.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Row, Sql } from "../../store/database/sql.ts";
import { listRows } from "../../store/lists/list.ts";
import { drained } from "../http/drained.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { EXPOSITION, heading, labelsText, secondsOf } from "./exposition.ts";

/** Rows that are read at once; between two reads others use the store. */
const PAGE = 1_000;
/** With more of them the answer says that it is cut. A scrape of so many takes some 10 MB. */
const MOST = 20_000;
const STALL_MS = 30_000;

const APPLICATION = `org, project, id, origin, f_agent as agent, f_cluster as cluster, f_repository as repository, f_sync as sync, f_health as health,
  spec->>'argoProject' as argo_project, spec#>>'{destination,namespace}' as namespace, status->>'reportedAt' as reported,
  status#>>'{operation,phase}' as phase, status#>>'{operation,startedAt}' as started, status#>>'{operation,finishedAt}' as finished,
  (select max(case when entry->>'id' ~ '^[0-9]{1,15}$' then (entry->>'id')::bigint end) from jsonb_array_elements(case when jsonb_typeof(status->'history') = 'array' then status->'history' else '[]' end) entry) as entry`;
const AGENT = `org, project, id, spec->>'engine' as engine, spec->>'mode' as mode, status->>'version' as version,
  status->>'clusterVersion' as cluster_version, status->>'connected' as connected, status->>'lastSeenAt' as seen`;

/** Metrics of each application, beside the one that says what it is. All of them stand in one column each, so that reading them again costs nothing. */
const MEASURES: { name: string; help: string; type: "gauge" | "counter"; of(row: Row): number | undefined }[] = [
  {
    name: "outpost_application_deployments_total",
    help: "Complete syncs that succeeded since the application was made.",
    type: "counter",
    of: ({ entry }) => (entry === null ? 0 : Number(entry) + 1),
  },
  {
    name: "outpost_application_operation_started_timestamp_seconds",
    help: "When the last sync or rollback began.",
    type: "gauge",
    of: ({ started }) => secondsOf(started),
  },
  {
    name: "outpost_application_operation_duration_seconds",
    help: "How long the last sync or rollback took, once it has ended.",
    type: "gauge",
    of: ({ started, finished, phase }) => {
      const [from, to] = [secondsOf(started), secondsOf(finished)];
      return from === undefined || to === undefined || OPEN.has(phase) ? undefined : Math.max(0, to - from);
    },
  },
  {
    name: "outpost_application_reported_timestamp_seconds",
    help: "When its agent last reported on the application.",
    type: "gauge",
    of: ({ reported }) => secondsOf(reported),
  },
];
const OPEN = new Set(["Pending", "Running", "Terminating"]);

/** GET of the metrics of a scope, by whoever may read it. Labels hold ids of objects: unlike those of /metrics, they are for the scope's own. */
export const getScopeMetrics =
  (s: Services): Handler<"getScopeMetrics"> =>
  async (call) => {
    await checkScopeExists(s.db, call.scope);
    // Read before anything is said, so that a store that does not answer is a problem and no torn scrape.
    const [agents, first] = [await agentsOf(s.db, call.scope), await applicationsAfter(s.db, call.scope)];
    return { status: 200, stream: (res) => send(s, call, { agents, first, res }) };
  };

const agentsOf = (sql: Sql, scope: Scope) =>
  listRows(sql, { collection: "agents", scope, columns: AGENT }, { inherited: true, limit: PAGE });

const applicationsAfter = (sql: Sql, scope: Scope, after?: Row) =>
  listRows(
    sql,
    { collection: "applications", scope, columns: APPLICATION },
    { inherited: true, limit: PAGE, after: after && [after.org, after.project, after.id] },
  );

interface Sending {
  agents: readonly Row[];
  first: readonly Row[];
  res: ServerResponse;
}

async function send(s: Services, call: Call<"getScopeMetrics">, { agents, first, res }: Sending): Promise<void> {
  res.writeHead(200, { "Content-Type": EXPOSITION, "Cache-Control": "no-store" });
  const write = async (text: string) => {
    if (text && !res.write(text)) await drained(res, STALL_MS);
  };
  await write(agentLines(agents));
  const kept: { labels: string; values: (number | undefined)[] }[] = [];
  await write(heading("outpost_application_info", "An application and its state; always 1.", "gauge"));
  let rows = first;
  for (;;) {
    await write(rows.map((row) => `outpost_application_info${infoOf(row)} 1\n`).join(""));
    for (const row of rows) kept.push({ labels: labelsText(nameOf(row)), values: MEASURES.map(({ of }) => of(row)) });
    if (rows.length < PAGE || kept.length >= MOST || res.destroyed || call.signal.aborted) break;
    // A key that is revoked meanwhile gets a torn answer, which no scraper takes for a whole one.
    if (!(await stillValid(s.db, call.caller!))) return void res.destroy();
    rows = await applicationsAfter(s.db, call.scope, rows.at(-1));
  }
  const isCut = rows.length === PAGE && kept.length >= MOST ? 1 : 0;
  for (const [n, { name, help, type }] of MEASURES.entries()) {
    const lines = kept.flatMap(({ labels, values }) =>
      values[n] === undefined ? [] : [`${name}${labels} ${values[n]}\n`],
    );
    await write(heading(name, help, type) + lines.join(""));
  }
  const help = `1 when there are more than ${MOST} applications: the rest is left out.`;
  await write(`${heading("outpost_scope_metrics_cut", help, "gauge")}outpost_scope_metrics_cut ${isCut}\n`);
  if (call.signal.aborted) res.destroy();
  else res.end();
}

const nameOf = ({ org, project, id }: Row) => ({ org, project, name: id });

function infoOf(row: Row): string {
  const { agent, cluster, namespace, repository, origin, sync, health, phase } = row;
  return labelsText({
    ...nameOf(row),
    agent,
    argo_project: row.argo_project ?? "default",
    cluster,
    namespace,
    repository,
    origin,
    sync: sync ?? "Unknown",
    health: health ?? "Unknown",
    operation: phase,
  });
}

function agentLines(rows: readonly Row[]): string {
  const info = rows.map((row) => {
    const { engine, mode, version, cluster_version } = row;
    return `outpost_agent_info${labelsText({ ...nameOf(row), engine, mode, version, cluster_version })} 1\n`;
  });
  const connected = rows.map(
    (row) => `outpost_agent_connected${labelsText(nameOf(row))} ${row.connected === "true" ? 1 : 0}\n`,
  );
  const seen = rows.flatMap((row) => {
    const at = secondsOf(row.seen);
    return at === undefined ? [] : [`outpost_agent_last_seen_timestamp_seconds${labelsText(nameOf(row))} ${at}\n`];
  });
  return [
    heading("outpost_agent_info", "An agent and its version; always 1.", "gauge"),
    ...info,
    heading("outpost_agent_connected", "1 while the agent is connected.", "gauge"),
    ...connected,
    heading("outpost_agent_last_seen_timestamp_seconds", "When the agent last spoke to the service.", "gauge"),
    ...seen,
  ].join("");
}
