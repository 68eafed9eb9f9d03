import type { Schemas } from "../../../../openapi/client.ts";
import { canonical } from "../../../base/json/canonical.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { causeOf } from "../../controller/application.ts";
import { ACTION_INFO } from "../deliveries/action.ts";
import { defined } from "../deliveries/spec.ts";
import { MARK } from "../names.ts";
import { toInstances } from "./instances.ts";
import { toResults } from "./results.ts";

type Status = Schemas["ApplicationStatus"];
// biome-ignore lint/suspicious/noExplicitAny: written by a controller that need not be ours; each field is looked at before it is used.
type Loose = any;

const SYNC = ["Synced", "OutOfSync", "Unknown"];
const HEALTH = ["Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown"];
const CAUSE = ["Manual", "Automated", "SelfHeal", "Rollback"];
const PHASE = ["Running", "Terminating", "Failed", "Error", "Succeeded"];

/** Turns the status that a controller wrote (ours or Argo CD's) into the contract's. */
export function toStatus(app: KubeObject): Status {
  const status: Loose = app.status ?? {};
  return defined({
    observedGeneration: speaksOfNewest(app) ? Number(app.metadata.annotations?.[MARK.generation]) : undefined,
    sync:
      status.sync &&
      defined({
        status: among(SYNC, status.sync.status),
        revision: text(status.sync.revision),
        revisions: texts(status.sync.revisions),
      }),
    health:
      status.health && defined({ status: among(HEALTH, status.health.status), message: text(status.health.message) }),
    operation: toOperation(app),
    conditions: list(status.conditions).map(toCondition),
    resources: list(status.resources).map(toResource),
    images: texts(status.summary?.images),
    instances: toInstances(status.summary?.workloads),
    externalUrls: texts(status.summary?.externalURLs),
    sourceType: text(status.sourceType) ?? texts(status.sourceTypes)?.find(Boolean),
    history: list(status.history).map(toHistory),
    reconciledAt: time(status.reconciledAt),
  }) as Status;
}

/**
 * Whether this status is about the specification as it is now. Our controller says so by echoing the generation; Argo CD by what it
 * compared. During a look the status still shows the one before.
 */
export function speaksOfNewest(app: KubeObject): boolean {
  const status: Loose = app.status;
  if (!status) return false;
  const conditions = list(status.conditions);
  if (conditions.some((c) => c?.type === "Reconciling")) return false;
  if (status.observedGeneration !== undefined)
    return String(status.observedGeneration) === app.metadata.annotations?.[MARK.generation];
  if (conditions.some((c) => c?.type === "InvalidSpecError")) return true;
  const compared = status.sync?.comparedTo;
  if (!compared) return false;
  const spec: Loose = app.spec ?? {};
  const same = (a: unknown, b: unknown) => canonical(a ?? null) === canonical(b ?? null);
  return (
    same(compared.destination, spec.destination) &&
    (spec.sources?.length ? same(compared.sources, spec.sources) : same(compared.source, spec.source))
  );
}

function toOperation(app: KubeObject): Status["operation"] {
  const state: Loose = app.status?.operationState;
  const waiting: Loose = app.operation;
  const [, id, at = "", message] = /^(\S+) (\S+) (.*)$/s.exec(app.metadata.annotations?.[MARK.refused] ?? "") ?? [];
  // The last request that could not be begun, until another one is.
  if (id && !waiting && !(Date.parse(state?.startedAt) > Date.parse(at)))
    return { id, phase: "Error", message, cause: "Rollback", finishedAt: at } as Status["operation"];
  // Requested and not begun yet.
  if (waiting && idOf(waiting) !== undefined && idOf(waiting) !== idOf(state?.operation)) {
    return defined({
      id: idOf(waiting),
      phase: "Pending",
      initiatedBy: text(waiting.initiatedBy?.username),
      cause: causeOf(waiting),
      revision: text(waiting.sync?.revision),
    }) as Status["operation"];
  }
  const phase = PHASE.includes(state?.phase) ? state.phase : undefined;
  if (!phase) return undefined;
  const by = state.operation?.initiatedBy;
  return defined({
    id: idOf(state.operation),
    phase,
    message: text(state.message),
    revision: text(state.syncResult?.revision),
    initiatedBy: text(by?.username) ?? (by?.automated ? "automated" : undefined),
    cause: state.operation ? causeOf(state.operation) : undefined,
    startedAt: time(state.startedAt),
    finishedAt: time(state.finishedAt),
    ...toResults(state),
  }) as Status["operation"];
}

const idOf = (operation: Loose): string | undefined =>
  text(list(operation?.info).find((info) => info?.name === ACTION_INFO)?.value);

function toCondition(c: Loose) {
  const type = text(c?.type) ?? "Unknown";
  return {
    type,
    status: "True" as const,
    reason: text(c?.reason) ?? type,
    message: text(c?.message) ?? "",
    lastTransitionTime: time(c?.lastTransitionTime) ?? "1970-01-01T00:00:00Z",
  };
}

function toResource(r: Loose) {
  return defined({
    group: text(r?.group),
    version: String(r?.version ?? ""),
    kind: String(r?.kind ?? ""),
    namespace: text(r?.namespace),
    name: String(r?.name ?? ""),
    status: SYNC.includes(r?.status) ? r.status : undefined,
    health: HEALTH.includes(r?.health?.status) ? r.health.status : undefined,
    message: text(r?.health?.message),
    requiresPruning: r?.requiresPruning === true ? true : undefined,
    requiresDeletionConfirmation: r?.requiresDeletionConfirmation === true ? true : undefined,
    hook: r?.hook === true ? true : undefined,
    syncWave: Number.isInteger(r?.syncWave) ? r.syncWave : undefined,
  });
}

function causeBy(by: Loose): string | undefined {
  if (by?.automated) return "Automated";
  return by?.username ? "Manual" : undefined;
}

function toHistory(h: Loose) {
  const by = h?.initiatedBy;
  return defined({
    id: Number(h?.id ?? 0),
    revision: text(h?.revision),
    revisions: texts(h?.revisions),
    deployedAt: time(h?.deployedAt) ?? "1970-01-01T00:00:00Z",
    deployStartedAt: time(h?.deployStartedAt),
    initiatedBy: text(by?.username) ?? (by?.automated ? "automated" : undefined),
    // Another controller than ours does not keep it; who began it tells most.
    cause: CAUSE.includes(h?.cause) ? h.cause : causeBy(by),
    images: texts(h?.images),
    source: toSource(h?.source),
    sources: list(h?.sources).length ? list(h.sources).map((one) => toSource(one) ?? {}) : undefined,
  });
}

/** Every report of a status carries up to ten of them. */
const LONGEST_SOURCE = 8_192;
const LONG_FIELDS = [
  "helm.values",
  "helm.valuesObject",
  "helm.parameters",
  "kustomize.patches",
  "directory.jsonnet",
  "plugin.env",
  "plugin.parameters",
];

/** A source as it was deployed; fields that make it too long are dropped. */
function toSource(source: Loose): Record<string, unknown> | undefined {
  if (typeof source !== "object" || source === null || Array.isArray(source)) return undefined;
  if (JSON.stringify(source).length <= LONGEST_SOURCE) return source;
  const short = structuredClone(source);
  for (const path of LONG_FIELDS) {
    const [tool, field] = path.split(".") as [string, string];
    if (short[tool]) delete short[tool][field];
  }
  return JSON.stringify(short).length <= LONGEST_SOURCE ? short : undefined;
}

const list = (value: unknown): Loose[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const texts = (value: unknown): string[] | undefined =>
  Array.isArray(value) && value.length ? value.filter((item) => typeof item === "string") : undefined;
const time = (value: unknown): string | undefined =>
  typeof value === "string" && Number.isFinite(Date.parse(value)) ? value : undefined;
const among = (allowed: string[], value: unknown): string =>
  allowed.includes(value as string) ? (value as string) : "Unknown";
