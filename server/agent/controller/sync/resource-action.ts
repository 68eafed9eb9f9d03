import { isDeepStrictEqual } from "node:util";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { runOffer } from "../../../kube/actions/custom.ts";
import { KUBE } from "../../../kube/errors.ts";
import { Lua } from "../../../kube/lua/lua.ts";
import { describe, gvkOf, type KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { instanceOf } from "../../project/instance.ts";
import { type Application, META } from "../application.ts";
import { findPart, type Part, type ResourceKey } from "../cluster/resource-membership.ts";
import type { Deps } from "../deps.ts";
import type { Destination } from "../destination.ts";
import { place } from "../projects.ts";

/** The request in the annotation `outpost.dev/resource-action`. */
export interface ActionRequest {
  /** Each is done once. */
  id: string;
  resource: ResourceKey;
  action: string;
  parameters?: Record<string, string>;
  by?: string;
  at: string;
}

/** Its result, in `outpost.dev/resource-action-result`. */
export interface ActionResult {
  id: string;
  state: "Running" | "Succeeded" | "Failed";
  reason?: string;
  message?: string;
}

// The caller was told long ago that the action was not carried out.
const EXPIRES_MS = 120_000;
const MAX_OBJECTS = 50;
const TRIES = 3;

/**
 * Does what a person has asked to be done with one object of an application: with the rights that its syncs have, and within its project. The
 * request is removed before it is carried out, so that a restart does not repeat it.
 */
export async function resourceAction(deps: Deps, app: Application): Promise<void> {
  const text = app.metadata.annotations?.[META.resourceAction];
  if (text === undefined) return;
  const asked = read<ActionRequest>(text, ["id", "action", "at"]);
  // Asked again, because its answer was lost: it is taken away and not done again.
  const repeated = read<ActionResult>(app.metadata.annotations?.[META.resourceActionResult], ["id"])?.id === asked?.id;
  const request = repeated || !asked?.resource?.kind || !asked.resource.name ? undefined : asked;
  const { resourceVersion } = app.metadata;
  const name = instanceOf(app, deps.namespace);
  const say = (result: ActionResult | undefined, more: object) =>
    deps.store.patch(name, patchOf(result, more), Object.hasOwn(more, "resourceVersion"));
  const taken = await say(request && { id: request.id, state: "Running" }, { resourceVersion });
  // Another client was faster, and with that change it is seen again.
  if (taken.kind !== "done" || !request) return;
  const ended = await carryOut(deps, app, request).catch((error: Error) => stop("InternalError", error.message));
  const { resource, action, by } = request;
  const told = {
    app: name,
    action,
    resource: `${resource.group ?? ""}/${resource.kind} ${resource.namespace ?? ""}/${resource.name}`,
    by,
  };
  if (ended.kind === "done") deps.log.info(told, "did an action");
  else deps.log.warn({ ...told, reason: ended.reason }, ended.message);
  const result: ActionResult =
    ended.kind === "done"
      ? { id: request.id, state: "Succeeded", message: ended.value }
      : { id: request.id, state: "Failed", reason: ended.reason, message: ended.message.slice(0, 2_000) };
  await say(result, {});
}

const patchOf = (result: ActionResult | undefined, more: object) => ({
  metadata: {
    ...more,
    annotations: {
      ...("resourceVersion" in more ? { [META.resourceAction]: null } : {}),
      ...(result ? { [META.resourceActionResult]: JSON.stringify(result) } : {}),
    },
  },
});

/** The request in an annotation; undefined if a field is missing. */
function read<T>(text: string | undefined, needed: readonly (keyof T)[]): T | undefined {
  try {
    const given = readJson(text ?? "") as T;
    return needed.every((key) => typeof given[key] === "string" && given[key] !== "") ? given : undefined;
  } catch {
    return undefined;
  }
}

async function carryOut(deps: Deps, app: Application, request: ActionRequest): Promise<Outcome<string>> {
  const age = deps.now() - Date.parse(request.at);
  if (!(Math.abs(age) < EXPIRES_MS)) return stop("ActionExpired", "it was asked for too long ago");
  if (app.metadata.deletionTimestamp) return stop("BeingDeleted", "the application is being deleted");
  const placed = await place(deps, app);
  if (placed.kind !== "done") return placed;
  const destination = placed.value;
  const lua = new Lua();
  try {
    for (let tries = 0; ; tries++) {
      const part = await findPart(app, destination, request.resource);
      if (part.kind !== "done") return part;
      const { custom } = destination.settings;
      const effect = await runOffer(
        part.value.object,
        request.action,
        request.parameters ?? {},
        new Date(deps.now()),
        custom,
        lua,
      );
      if (effect.kind !== "done") return effect;
      const ended =
        effect.value.kind === "change"
          ? await change(destination, part.value, effect.value.object)
          : await create(destination, part.value.object, effect.value.objects);
      // The object changed in between, so the action may produce a different result.
      if (ended.kind === "done" || ended.reason !== KUBE.conflict || tries === TRIES) return ended;
    }
  } finally {
    await lua.close();
  }
}

async function change(
  { writer, refuse }: Destination,
  { object, resource }: Part,
  changed: KubeObject,
): Promise<Outcome<string>> {
  const refused = refuse?.(object, resource);
  if (refused) return stop("NotPermitted", refused);
  const patch = mergePatch(object, changed) as Record<string, unknown> | undefined;
  if (!patch) return done(`${describe(object)} is so already`);
  const { namespace, name, uid, resourceVersion } = object.metadata;
  // What identifies an object cannot be changed.
  const { name: _, namespace: __, ...metadata } = (patch.metadata ?? {}) as Record<string, unknown>;
  const { status, apiVersion, kind, ...rest } = patch;
  const whole = {
    ...rest,
    ...(status === undefined ? {} : { status }),
    metadata: { ...metadata, uid, resourceVersion },
  };
  const written = await writer.mergePatch(resource, namespace, name, whole);
  if (written.kind !== "done") return written;
  if (status !== undefined && !isDeepStrictEqual(written.value.status, changed.status)) {
    const told = await writer.patchStatus(resource, namespace, name, status);
    if (told.kind !== "done") return told;
  }
  return done(`changed ${describe(object)}`);
}

async function create(
  { client, writer, refuse }: Destination,
  source: KubeObject,
  objects: readonly KubeObject[],
): Promise<Outcome<string>> {
  if (objects.length > MAX_OBJECTS) return stop("ActionTooLarge", `the action makes more than ${MAX_OBJECTS} objects`);
  const wanted: { object: KubeObject; resource: Resource }[] = [];
  // All are judged before the first is made.
  for (const given of objects) {
    const { group, version, kind } = gvkOf(given);
    const resource = await client.discovery.find(group, version, kind);
    if (resource.kind !== "done") return resource;
    const namespace = resource.value.namespaced ? (given.metadata?.namespace ?? source.metadata.namespace) : undefined;
    const object = { ...given, metadata: { ...given.metadata, namespace } };
    const refused = refuse?.(object, resource.value);
    if (refused) return stop("NotPermitted", refused);
    wanted.push({ object, resource: resource.value });
  }
  for (const { object, resource } of wanted) {
    const made = await writer.create(resource, object);
    if (made.kind !== "done") return made;
  }
  return done(`made ${wanted.map(({ object }) => describe(object)).join(", ")}`);
}

/** RFC 7386: the patch that turns one value into the other; undefined if they are equal. */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (isDeepStrictEqual(before, after)) return undefined;
  if (!isMap(before) || !isMap(after)) return after;
  const patch: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined) continue;
    const inner = Object.hasOwn(before, key) ? mergePatch(before[key], value) : value;
    if (inner !== undefined) patch[key] = inner;
  }
  for (const key of Object.keys(before)) if (after[key] === undefined && before[key] !== undefined) patch[key] = null;
  return Object.keys(patch).length ? patch : undefined;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
