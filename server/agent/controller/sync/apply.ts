import { again, done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { pause } from "../../../base/process/pause.ts";
import { APPLIER, FIELD_MANAGER } from "../../../kube/client.ts";
import { KUBE } from "../../../kube/errors.ts";
import { describe, gvkOf, type KubeObject } from "../../../kube/object.ts";
import { RESOURCES, type Resource, resourcePath } from "../../../kube/path.ts";
import { instanceOf } from "../../project/instance.ts";
import { type Application, META } from "../application.ts";
import { advised, applyOnClientSide, isClientSide } from "../compare/client-side.ts";
import type { Verdicts } from "../compare/compare.ts";
import { fieldsOf, ignoring, NOTHING, taking } from "../compare/ignore.ts";
import { hasLastApplied, withLastApplied } from "../compare/last-applied.ts";
import { removeLeftovers } from "../compare/leftovers.ts";
import { formerFields, isOurs, takeOver } from "../compare/migrate.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import { hasTextLeftovers, inheritTexts } from "../compare/plain-texts.ts";
import { isLenient, withoutUnknownFields } from "../compare/unknown-fields.ts";
import { withoutGivenMarks } from "../config/given-marks.ts";
import { withMarksOf } from "../config/own-marks.ts";
import type { Destination } from "../destination.ts";
import { syncOption } from "../order.ts";
import { isMarked } from "../tracking.ts";
import { advisedFailure } from "./messages.ts";
import { leftNamespace, MISSING, SHARED } from "./namespace-owner.ts";
import { leftToOther, otherOwner } from "./other-owner.ts";

/** The result for one object. */
export type ApplyResult = "created" | "configured" | "unchanged";

const MIGRATION = "argocd.argoproj.io/client-side-apply-migration-manager";
/** Why an object is left to the controller that comes after this one. */
export const ENDING = "ControllerEnding";
const POLL_MS = 100;
const ESTABLISHED_MS = 10_000;
// A Pod that is deleted has 30 s to end.
const GONE_MS = 35_000;

/** The identity and the settings of an apply. */
interface AppliedBy {
  app: Application;
  /** Remembers which objects match Git. */
  verdicts: Verdicts;
  options: readonly string[];
}

/** Brings one object into the cluster: one request, or none when it is known to be as desired. */
export function applyTarget(
  destination: Destination,
  target: CompareTarget,
  by: AppliedBy,
): Promise<Outcome<ApplyResult>> {
  return withoutUnknownFields(target, by.options, () => applyOnce(destination, target, by));
}

async function applyOnce(
  destination: Destination,
  target: CompareTarget,
  { app, verdicts, options }: AppliedBy,
): Promise<Outcome<ApplyResult>> {
  const { live } = destination;
  const label = target.object.metadata.labels![META.app]!;
  const resource = await resourceOf(destination, target, label);
  if (resource.kind !== "done") return resource;
  const refused = destination.refuse?.(target.object, resource.value);
  if (refused) return stop("NotPermitted", refused);
  const other = otherOwner(destination, target, app);
  if (other) return stop(SHARED, leftToOther(destination, target.object, { app, other }));
  const { claims } = destination;
  claims.set(target.key, instanceOf(app, destination.own));
  const there = live.get(target.key, label);
  const unseen = there ? done(undefined) : await hidden(destination, resource.value, target, options);
  if (unseen.kind !== "done") {
    claims.giveUp(target.key, instanceOf(app, destination.own));
    return unseen;
  }
  const current = there ?? unseen.value;
  const { anew, forces } = mannerOf(target.object, options);
  if (
    current &&
    !anew &&
    verdicts.get(target, current) &&
    isMarked(current, target.object, destination.settings.tracking)
  )
    return done("unchanged");

  const respected =
    current && options.includes("RespectIgnoreDifferences=true")
      ? await respecting(destination, resource.value, { target, current, app })
      : done(target.object);
  if (respected.kind !== "done") return respected;
  const isRecorded = current ? hasLastApplied(current) : startsLastApplied(destination, label, target, options);
  const sendable = withMarksOf(respected.value, target.object, destination.settings.tracking);
  const wanted = isRecorded ? withLastApplied(sendable) : sendable;
  const migrates = !options.includes("ClientSideApplyMigration=false") && !isClientSide(target.object, options);
  if (current && migrates && syncOption("Replace", wanted, options) !== "true")
    await inherit(destination, resource.value, current, app);
  if (current && hasTextLeftovers(current, wanted, ignoring(app, destination.settings.rules, wanted))) {
    const failed = await inheritTexts(destination, resource.value, current);
    if (failed) return failed;
  }
  const renew = (there: KubeObject) =>
    recreate(destination, resource.value, wanted, { current: there, restores: !anew });
  let sent =
    current && anew ? await renew(current) : await send(destination, resource.value, wanted, { current, options });
  if (sent.kind !== "done" && current && forces && isUnchangeable(sent)) sent = await renew(current);
  if (sent.kind !== "done") {
    // An object that it may not or cannot create must not stay claimed.
    claims.giveUp(target.key, instanceOf(app, destination.own));
    if (sent.reason === KUBE.namespaceNotFound) destination.namespaces.delete(target.object.metadata.namespace ?? "");
    return advisedFailure(sent);
  }
  const former = migrates ? formerFields(sent.value, app.metadata.annotations?.[MIGRATION]) : [];
  if (former.length && sent.value.metadata.managedFields?.some(isOurs)) {
    const taken = await takeOver(destination, resource.value, sent.value, { former });
    // The object was not known before the write: only the answer shows what was applied last.
    const kept = hasLastApplied(sent.value) ? withLastApplied(wanted) : wanted;
    if (taken.kind === "done") sent = await send(destination, resource.value, kept, { current, options });
    if (sent.kind !== "done") return sent;
  }
  if (current && migrates && hasLastApplied(current)) {
    const ignored = ignoring(app, destination.settings.rules, target.object);
    const cleaned = await removeLeftovers(destination, resource.value, wanted, {
      before: current,
      after: sent.value,
      ignored,
    });
    if (cleaned && cleaned.kind !== "done") return cleaned;
    sent = cleaned ?? sent;
  }
  if (target.object.kind === "CustomResourceDefinition") {
    const established = await waitEstablished(destination, resource.value, target.object.metadata.name);
    if (established) return established;
  }
  live.put(sent.value);
  verdicts.set(target, sent.value, true);
  if (!current) return done(isNew(sent.value) ? "created" : "configured");
  return done(current.metadata.resourceVersion === sent.value.metadata.resourceVersion ? "unchanged" : "configured");
}

/**
 * Client-side applied fields become ours before the first apply, as the API server may refuse the old and new fields together:
 * a second handler of a probe, another kind of volume. And one change causes one roll-out.
 */
async function inherit(
  destination: Destination,
  resource: Resource,
  current: KubeObject,
  app: Application,
): Promise<void> {
  // Of managed fields the watch keeps our own entry alone.
  if (current.metadata.managedFields?.length || !hasLastApplied(current)) return;
  const { namespace, name, uid } = current.metadata;
  const read = await destination.client.get(resource, namespace, name);
  if (read.kind !== "done" || read.value.metadata.uid !== uid) return;
  const former = formerFields(read.value, app.metadata.annotations?.[MIGRATION]);
  // After a conflict it is done after the apply.
  if (former.length) await takeOver(destination, resource, read.value, { former });
}

/** A live object that no watch shows: it may have differences that must be kept. */
async function hidden(
  { client }: Destination,
  resource: Resource,
  { object }: CompareTarget,
  options: readonly string[],
): Promise<Outcome<KubeObject | undefined>> {
  if (!options.includes("RespectIgnoreDifferences=true")) return done(undefined);
  const got = await client.get(resource, object.metadata.namespace, object.metadata.name);
  // One that could not be read may be there all the same.
  return got.kind === "done" || !MISSING.has(got.reason) ? got : done(undefined);
}

/**
 * Whether a new object gets `last-applied-configuration`, which is kept true where it is: if others of the application have it, so that Argo CD
 * may go on with all of them.
 */
function startsLastApplied(
  { live }: Destination,
  label: string,
  { object, hook }: CompareTarget,
  options: readonly string[],
): boolean {
  if (hook || syncOption("ServerSideApply", object, options) === "true") return false;
  for (const other of live.ofApp(label).values()) if (hasLastApplied(other)) return true;
  return false;
}

/** Whether an apply made the object: then all of it is of one manager and one moment. */
const isNew = ({ metadata: { managedFields = [], creationTimestamp } }: KubeObject): boolean =>
  managedFields.length === 1 && managedFields[0]!.manager === APPLIER && managedFields[0]!.time === creationTimestamp;

/** How an existing object is written: replaced at every sync (`anew`), or only where it cannot be changed (`forces`). */
export function mannerOf(object: KubeObject, options: readonly string[]): { anew: boolean; forces: boolean } {
  const [replaces, forces] = ["Replace", "Force"].map((name) => syncOption(name, object, options) === "true") as [
    boolean,
    boolean,
  ];
  // Deleting a CRD or a namespace would delete everything in it.
  const keeps = replaces && ["CustomResourceDefinition", "Namespace"].includes(object.kind);
  // `Replace` with `Force` means a new object at every sync, for example a Job that must run each time.
  return { anew: replaces && forces && !keeps, forces: forces && !keeps };
}

/** As an API server says it of an object that it does not take: whoever forbids it, and a field that no kind has, would not take a new one either. */
export const isUnchangeable = ({ reason, message }: Failure): boolean =>
  reason === KUBE.invalid && /^\S+ "[^"]*" is invalid: /.test(message);

/** What is sent where ignored differences are kept: with the live values. */
async function respecting(
  { client, settings }: Destination,
  resource: Resource,
  { target, current, app }: { target: CompareTarget; current: KubeObject; app: Application },
): Promise<Outcome<KubeObject>> {
  const ignored = ignoring(app, settings.rules, target.object);
  if (ignored === NOTHING) return done(target.object);
  if (ignored.managers.length === 0) return done(taking(target.object, current, ignored));
  const { namespace, name } = current.metadata;
  const read = await client.get(resource, namespace, name);
  return read.kind === "done"
    ? done(taking(target.object, read.value, ignored, fieldsOf(read.value, ignored.managers)))
    : read;
}

interface Sending {
  /** What is there. */
  current: KubeObject | undefined;
  options: readonly string[];
  dryRun?: boolean;
}

/** One write of an object, or a trial of it. */
export async function send(
  { writer }: Pick<Destination, "writer">,
  resource: Resource,
  object: KubeObject,
  { current, options, dryRun = false }: Sending,
): Promise<Outcome<KubeObject>> {
  if (current && syncOption("Replace", object, options) === "true") {
    const { namespace, name } = object.metadata;
    return writer.json("PUT", resourcePath(resource, namespace, name), {
      body: { ...object, metadata: { ...object.metadata, resourceVersion: current.metadata.resourceVersion } },
      // Unlike server-side apply it would silently drop unknown fields.
      query: {
        fieldManager: FIELD_MANAGER,
        fieldValidation: isLenient(object, options) ? "Ignore" : "Strict",
        dryRun: dryRun ? "All" : undefined,
      },
    });
  }
  if (isClientSide(object, options))
    return applyOnClientSide(writer, resource, object, { options, there: current !== undefined, dryRun });
  return advised(await writer.apply(resource, object, { dryRun }));
}

async function recreate(
  { client, writer, live, ending }: Destination,
  resource: Resource,
  object: KubeObject,
  { current, restores }: { current: KubeObject; restores: boolean },
): Promise<Outcome<KubeObject>> {
  const { namespace, name, uid } = current.metadata;
  const deleted = await writer.delete(resource, namespace, name, { propagation: "Background", uid });
  if (deleted.kind !== "done" && deleted.reason !== KUBE.notFound) return deleted;
  const deadline = Date.now() + GONE_MS;
  // A write to an object that is being deleted would be lost.
  for (let there = deleted; ; there = await client.get(resource, namespace, name)) {
    if (there.kind !== "done") {
      if (there.reason === KUBE.notFound) break;
      // Without an answer it is not known to be gone.
      return there;
    }
    const { kind, metadata } = there.value as KubeObject;
    if (kind === "Status" || metadata.uid !== uid) break;
    if (Date.now() > deadline)
      return again("StillThere", `${describe(object)} was deleted to be re-created, and is still there`);
    if (!(await pause(POLL_MS, ending)))
      return again(ENDING, `${describe(object)} was deleted to be re-created, and the controller ends`);
  }
  const made = await writer.apply(resource, object);
  // A Job that has run would run once more.
  if (made.kind === "done" || !restores || object.kind === "Job") return made;
  const back = await writer.create(resource, asBefore(current));
  if (back.kind === "done") live.put(back.value);
  const end =
    back.kind === "done"
      ? "what was there before is back"
      : `what was there before could not be put back: ${back.message}`;
  return { ...made, message: `${made.message}; ${end}` };
}

function asBefore(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object as KubeObject & { status?: unknown };
  const { name, namespace, labels, annotations, finalizers, ownerReferences } = object.metadata;
  return { ...rest, metadata: { name, namespace, labels, annotations, finalizers, ownerReferences } };
}

/** A kind that was missing may have come with a CRD of the same sync. */
async function resourceOf(
  { client, live }: Destination,
  target: CompareTarget,
  label: string,
): Promise<Outcome<Resource>> {
  if (target.resource) return done(target.resource);
  client.discovery.forget();
  const { group, version, kind } = gvkOf(target.object);
  const found = await client.discovery.find(group, version, kind);
  if (found.kind !== "done") return found;
  const observed = await live.observe(found.value, label);
  if (observed.kind !== "done") return observed;
  target.resource = found.value;
  target.problem = undefined;
  return found;
}

async function waitEstablished(
  { client, ending }: Destination,
  resource: Resource,
  name: string,
): Promise<Failure | undefined> {
  const deadline = Date.now() + ESTABLISHED_MS;
  do {
    const read = await client.get(resource, undefined, name);
    if (read.kind !== "done") return read;
    const conditions: { type: string; status: string }[] = read.value.status?.conditions ?? [];
    if (conditions.some((c) => c.type === "Established" && c.status === "True")) {
      client.discovery.forget();
      return undefined;
    }
    if (!(await pause(POLL_MS, ending)))
      return again(ENDING, `CustomResourceDefinition ${name} is not established yet, and the controller ends`);
  } while (Date.now() < deadline);
  return again(
    "NotEstablished",
    `CustomResourceDefinition ${name} was not established within ${ESTABLISHED_MS / 1_000} s`,
  );
}

/** Makes the destination namespace once; that it exists is remembered until an apply says otherwise. */
export async function ensureNamespace(destination: Destination, app: Application): Promise<Outcome<ApplyResult>> {
  const { client, writer, namespaces } = destination;
  const name = app.spec.destination.namespace!;
  const { managedNamespaceMetadata } = app.spec.syncPolicy ?? {};
  const managed = managedNamespaceMetadata && withoutGivenMarks(app, managedNamespaceMetadata, destination);
  if (namespaces.has(name) && !managed) return done("unchanged");
  // Argo CD writes this option on a namespace that it manages, under the same manager: without it each engine would undo the other's write.
  const annotations = managed && { ...managed.annotations, [META.syncOptions]: "ServerSideApply=true" };
  const object = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels: managed?.labels, annotations } };
  const refused = destination.refuse?.(object, RESOURCES.namespace);
  const left = managed && !refused ? await leftNamespace(destination, app, object) : undefined;
  if (left) return left;
  const made = refused
    ? stop("NotPermitted", refused)
    : await (managed ? writer.apply(RESOURCES.namespace, object) : writer.create(RESOURCES.namespace, object));
  if (made.kind !== "done" && made.reason !== KUBE.alreadyExists) {
    // An account that may not create a namespace may still use an existing one: the API server checks permissions before existence.
    const there =
      !managed && made.kind === "stop" && (await client.get(RESOURCES.namespace, undefined, name)).kind === "done";
    if (!there) return made;
  }
  namespaces.add(name);
  if (made.kind !== "done") return done("unchanged");
  return done(managed && !isNew(made.value) ? "unchanged" : "created");
}
