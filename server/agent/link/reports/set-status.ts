import type { Schemas } from "../../../../openapi/client.ts";
import { beginning } from "../../../base/lang/beginning.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { setOf } from "../../appset/reconcile/application.ts";
import { defined } from "../deliveries/spec.ts";
import { MARK } from "../names.ts";

type Status = Schemas["ApplicationSetStatus"];
type Made = Schemas["GeneratedApplication"];
type Json = Record<string, unknown>;

const HEALTH = ["Healthy", "Progressing", "Degraded", "Unknown"];
const SYNC = ["Synced", "OutOfSync", "Unknown"];
const APP_HEALTH = ["Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown"];
const STATE = ["Waiting", "Pending", "Progressing", "Healthy"];
// One report must hold them.
const MOST = 1_000;
const TEXT = 200;

/** The facts of an Application for the set that made it. */
export interface MadeApplication {
  name: string;
  set: string;
  sync: string | undefined;
  health: string | undefined;
  revision: string | undefined;
}

/** An Application as its set's status shows it; nothing for one that no set made. */
export function madeBy(app: KubeObject): MadeApplication | undefined {
  const set = setOf(app);
  if (set === undefined) return undefined;
  const status = json(app.status);
  const sync = json(status.sync);
  return {
    name: app.metadata.name,
    set,
    sync: among(SYNC, sync.status),
    health: among(APP_HEALTH, json(status.health).status),
    revision: text(sync.revision) ?? text(list(sync.revisions)[0]),
  };
}

/** Turns the status that a controller wrote (ours or Argo CD's) into the contract's, with the applications as they are now. */
export function toSetStatus(set: KubeObject, made: readonly MadeApplication[]): Status {
  const status = json(set.status);
  const health = json(status.health);
  const conditions = list(status.conditions).map(toCondition);
  if (made.length > MOST) conditions.push(cutAt(made.length));
  return defined({
    observedGeneration: speaksOfNewest(set, status) ? Number(set.metadata.annotations?.[MARK.generation]) : undefined,
    health: status.health
      ? defined({ status: among(HEALTH, health.status) ?? "Unknown", message: cut(health.message) })
      : undefined,
    conditions: conditions.length ? conditions : undefined,
    applications: applicationsOf(status, made),
  }) as Status;
}

/** Ours echoes the generation that it looked at. Argo CD does not; its last status counts. */
function speaksOfNewest(set: KubeObject, status: Json): boolean {
  if (status.observedGeneration !== undefined)
    return String(status.observedGeneration) === set.metadata.annotations?.[MARK.generation];
  return list(status.conditions).length > 0;
}

function applicationsOf(status: Json, made: readonly MadeApplication[]): Made[] {
  const steps = new Map(list(status.applicationStatus).map((one) => [text(json(one).application), json(one)]));
  return [...made]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, MOST)
    .map(({ name, sync, health, revision }) => {
      const step = steps.get(name);
      return defined({
        name,
        sync,
        health,
        revision,
        // One that no step names is in none.
        step: step && step.step !== "-1" ? text(step.step) : undefined,
        state: step && among(STATE, step.status),
        message: step && cut(step.message),
      }) as Made;
    });
}

const cutAt = (count: number) => ({
  type: "ApplicationsNotReported",
  status: "True",
  reason: "ReportTooLarge",
  message: `${count} applications are too many for one report: the first ${MOST} by name are shown; look at the others in the cluster`,
  lastTransitionTime: "1970-01-01T00:00:00Z",
});

function toCondition(value: unknown) {
  const { type, status, reason, message, lastTransitionTime } = json(value);
  return {
    type: text(type) ?? "Unknown",
    status: among(["True", "False", "Unknown"], status) ?? "Unknown",
    reason: text(reason) ?? text(type) ?? "Unknown",
    message: beginning(text(message) ?? "", 4_096),
    lastTransitionTime: Number.isFinite(Date.parse(String(lastTransitionTime)))
      ? String(lastTransitionTime)
      : "1970-01-01T00:00:00Z",
  };
}

const json = (value: unknown): Json => (value !== null && typeof value === "object" ? (value as Json) : {});
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const cut = (value: unknown) => {
  const whole = text(value);
  return whole && beginning(whole, TEXT);
};
const among = (allowed: readonly string[], value: unknown) =>
  allowed.includes(value as string) ? (value as string) : undefined;
