import { type Colours, printable } from "../../base/colour.ts";
import { showAge } from "../../base/lang/duration.ts";
import { pairs, table } from "../../base/table.ts";
import { field, type Json, state } from "../show.ts";
import { type Noun, resourceName, revisionText, shortRevision } from "./nouns.ts";

/** One object as a person reads it: what it is, how it is, and what is wrong with it. */
export function describe(o: Json, noun: Noun, c: Colours, stale?: string): string {
  const now = noun.readiness(o);
  const blocks = [
    pairs([
      ["id", c.bold(o.id)],
      ...scope(o),
      ["created", `${o.createdAt} (${showAge(o.createdAt)} ago)`],
      ["version", `${o.version} (generation ${o.generation})`],
      ...deleting(o, c),
      ["state", now.ready ? c.green(now.reason) : (now.failed ? c.red : c.yellow)(printable(now.reason))],
      ...(stale ? [["stale", c.yellow(printable(stale.replace(/^stale:? /, "")))] as [string, string]] : []),
    ]),
  ];
  const spec = flat(o.spec ?? {});
  if (spec.length) blocks.push(`${c.bold("Spec")}\n${indent(pairs(spec))}`);
  const { conditions, resources, history, applications, ...rest } = (o.status ?? {}) as Json;
  const status = flat(rest).map(([k, v]): [string, string] => [
    k,
    /(^|\.)(status|state|phase)$/.test(k) ? state(v, c) : v,
  ]);
  if (status.length) blocks.push(`${c.bold("Status")}\n${indent(pairs(status))}`);
  if (conditions?.length) blocks.push(`${c.bold("Conditions")}\n${indent(conditionTable(conditions, c))}`);
  if (applications?.length) blocks.push(`${c.bold("Applications")}\n${indent(applicationTable(applications, c))}`);
  if (resources?.length) blocks.push(`${c.bold("Resources")}\n${indent(resourceTable(resources, c))}`);
  if (history?.length) blocks.push(`${c.bold("Last deployments")}\n${indent(historyTable(history.slice(-3), c))}`);
  return blocks.join("\n\n");
}

export function resourceTable(resources: Json[], c: Colours): string {
  const rows = resources.map((r) => [
    printable(resourceName(r)) + (r.hook ? c.dim(" (hook)") : ""),
    // Argo CD says of each live hook that it is to be pruned, and means none.
    r.requiresPruning && !r.hook ? c.yellow("to prune") : state(r.status, c),
    state(r.health, c),
    field(r, "message"),
  ]);
  return table(["RESOURCE", "SYNC", "HEALTH", "MESSAGE"].map(c.bold), rows);
}

/** What a set made; the step only where a roll-out has some. */
function applicationTable(applications: Json[], c: Colours): string {
  const steps = applications.some((one) => one.step !== undefined);
  const rows = applications.map((one) => [
    printable(one.name),
    state(one.sync, c),
    state(one.health, c),
    shortRevision(field(one, "revision")),
    ...(steps ? [[field(one, "step"), field(one, "state")].filter(Boolean).join(" ")] : []),
    field(one, "message"),
  ]);
  return table(["NAME", "SYNC", "HEALTH", "REVISION", ...(steps ? ["STEP"] : []), "MESSAGE"].map(c.bold), rows);
}

export function historyTable(history: Json[], c: Colours): string {
  const rows = [...history]
    .reverse()
    .map((h) => [
      String(h.id),
      revisionText(h),
      h.deployedAt ?? "-",
      h.deployedAt ? `${showAge(h.deployedAt)} ago` : "-",
      field(h, "cause") || "-",
      field(h, "initiatedBy") || "-",
    ]);
  return table(["ID", "REVISION", "DEPLOYED", "AGE", "CAUSE", "BY"].map(c.bold), rows);
}

function conditionTable(conditions: Json[], c: Colours): string {
  const bad = (x: Json) => (/Error$/.test(x.type) ? x.status === "True" : x.status === "False");
  const rows = conditions.map((x) => [
    bad(x) ? c.red(printable(x.type)) : printable(x.type),
    field(x, "status"),
    field(x, "reason"),
    showAge(x.lastTransitionTime),
    field(x, "message"),
  ]);
  return table(["TYPE", "STATUS", "REASON", "AGE", "MESSAGE"].map(c.bold), rows);
}

/** Nested fields by their path; lists of objects stay for `-o yaml`. */
function flat(value: Json, prefix = ""): [string, string][] {
  return Object.entries<Json[string]>(value).flatMap(([key, v]): [string, string][] => {
    const path = prefix ? `${prefix}.${key}` : key;
    if (v === null || v === undefined) return [];
    if (Array.isArray(v)) {
      if (v.length === 0) return [];
      return v.some((x) => typeof x === "object")
        ? v.flatMap((x, i) => (typeof x === "object" ? flat(x, `${path}[${i}]`) : []))
        : [[path, printable(v.join(", "))]];
    }
    if (typeof v === "object") return flat(v, path);
    return [[path, printable(String(v))]];
  });
}

const scope = (o: Json): [string, string][] => (o.org ? [["scope", [o.org, o.project].filter(Boolean).join("/")]] : []);
const deleting = (o: Json, c: Colours): [string, string][] =>
  o.deletionRequestedAt ? [["deleting", c.yellow(`since ${o.deletionRequestedAt}`)]] : [];
const indent = (text: string): string => text.replace(/^/gm, "  ");
