import type { Schemas } from "../../../openapi/client.ts";
import { printable } from "../../base/colour.ts";
import { showAge, showDuration } from "../../base/lang/duration.ts";
import { pairs, table } from "../../base/table.ts";
import type { Session } from "../session/session.ts";
import { type Column, field, type Json, plainColumn, state, stateColumn } from "../show.ts";

export type Task = Schemas["Task"];
export const ENDED = new Set(["Succeeded", "Failed", "Cancelled", "Unknown", "TimedOut"]);

export const taskColumns: Column[] = [
  { head: "ID", text: (o, c) => c.bold(field(o, "id")) },
  plainColumn("KIND", "kind"),
  stateColumn("STATE", "state"),
  { head: "AGE", text: (o) => showAge(o.createdAt) },
  { head: "TOOK", text: took },
  { head: "WORKER", text: (o) => field(o.attempts?.at(-1) ?? {}, "worker") },
  plainColumn("NAME", "name", true),
  plainColumn("RUN", "run", true),
  plainColumn("SELECTORS", "selectors", true),
  { head: "MESSAGE", text: (o) => field(o, "message") },
];

/** How long it ran, or has been running. */
export function took(o: Json): string {
  return o.startedAt ? showDuration(Date.parse(o.endedAt ?? new Date().toISOString()) - Date.parse(o.startedAt)) : "-";
}

/** What a task that has not ended waits for. */
export function waiting(task: Task): string {
  if (ENDED.has(task.state)) return task.state;
  if (task.state !== "Queued") return `running on ${task.attempts.at(-1)?.worker ?? "a delegate"}`;
  if (task.notBefore) return `waiting until ${task.notBefore} for the next attempt`;
  return `queued: ${task.explanation?.map((e) => `${e.worker} ${e.reason}`).join(", ") || "waiting for a delegate"}`;
}

export function describeTask(task: Task, s: Session): string {
  const told = task as Json;
  const optional = (name: string, key: string) =>
    field(told, key) ? [[name, field(told, key)] as [string, string]] : [];
  const blocks = [
    pairs([
      ["id", s.c.bold(task.id)],
      ...optional("name", "name"),
      ["kind", task.kind],
      ["state", state(task.state, s.c)],
      ...optional("reason", "reason"),
      ...optional("message", "message"),
      ...(task.run ? [["run", `${printable(task.run)}, step ${printable(task.step ?? "")}`] as [string, string]] : []),
      ...optional("retry of", "retryOf"),
      ...optional("not before", "notBefore"),
      ["selectors", field(told, "selectors") || "any"],
      [
        "created",
        `${task.createdAt} (${showAge(task.createdAt)} ago)${task.requestedBy ? ` by ${printable(task.requestedBy)}` : ""}`,
      ],
    ]),
  ];
  if (task.attempts.length)
    blocks.push(
      table(
        ["ATTEMPT", "WORKER", "STARTED", "ENDED", "REASON"].map(s.c.bold),
        task.attempts.map((a) => [
          String(a.number),
          printable(a.worker),
          a.startedAt,
          a.endedAt ?? "-",
          field(a as Json, "reason") || "-",
        ]),
      ),
    );
  if (task.state === "Queued" && task.explanation?.length)
    blocks.push(
      table(
        ["WORKER", "WHY NOT"].map(s.c.bold),
        task.explanation.map((e) => [printable(e.worker), printable(e.reason)]),
      ),
    );
  if (task.outputs && Object.keys(task.outputs).length) blocks.push(`${s.c.bold("Outputs")}\n${outputs(task.outputs)}`);
  if (task.artifacts?.length) blocks.push(artifactTable(task.artifacts, s));
  return blocks.join("\n\n");
}

export const outputs = (all: Json): string =>
  pairs(Object.entries(all).map(([k, v]) => [printable(k), printable(typeof v === "string" ? v : JSON.stringify(v))]));

export const artifactTable = (artifacts: readonly Schemas["TaskArtifact"][], s: Session): string =>
  table(
    ["ARTIFACT", "BYTES", "SHA-256", "AGE"].map(s.c.bold),
    artifacts.map((a) => [printable(a.name), String(a.size), a.sha256.slice(0, 12), showAge(a.createdAt)]),
  );
