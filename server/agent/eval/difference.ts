import { randomBytes } from "node:crypto";
import { canonical } from "../../base/json/canonical.ts";
import { done, type Failure, type Outcome } from "../../base/outcome.ts";
import { KubeClient } from "../../kube/client.ts";
import type { KubeConfig } from "../../kube/config.ts";
import { KUBE } from "../../kube/errors.ts";
import { gvkOf, type KubeObject, keyOf } from "../../kube/object.ts";
import { parseManifests } from "../../kube/yaml.ts";
import { META } from "../controller/application.ts";
import { fieldsOf, ignoring, without } from "../controller/compare/ignore.ts";
import { inSpellingOf } from "../controller/compare/known-types.ts";
import { predict } from "../controller/compare/three-way.ts";
import { filledIn, wantsStatus } from "../controller/config/compare-options.ts";
import { knownFieldsOf } from "../controller/config/known-fields.ts";
import { belongs } from "../controller/projects.ts";
import { appLabel, markOf, migrated, ownerOf, type Tracking } from "../controller/tracking.ts";
import { masked, toYaml } from "../link/queries/mask.ts";
import type { InputFile } from "./inputs.ts";
import { type Ask, type RenderedApplication, renderManifests, withoutTracking } from "./manifests.ts";
import { tryOut } from "./trial.ts";

export { loadConfig } from "../../kube/config.ts";

/** One object that is not on both sides the same; the texts are YAML, values of Secrets are digests. */
export interface ManifestDifference {
  application: string;
  group: string;
  version: string;
  kind: string;
  namespace: string;
  name: string;
  change: "create" | "update" | "delete";
  live?: string;
  desired?: string;
}

/** What the rendering is compared with. */
export type Against =
  | { kind: "revision"; revision: string }
  | { kind: "objects"; files: readonly InputFile[] }
  /** Nothing is changed: objects are read, and applies are tried as dry runs. */
  | { kind: "cluster"; config: KubeConfig };

/** In what the objects of the given applications differ from another revision, from objects in files, or from a cluster. */
export async function diffManifests(ask: Ask, against: Against): Promise<Outcome<ManifestDifference[]>> {
  if (against.kind === "cluster") return withCluster(ask, against.config);
  const after = await renderManifests(ask);
  if (after.kind !== "done") return after;
  if (against.kind === "objects") {
    const live: KubeObject[] = [];
    for (const { name, text } of against.files) {
      const objects = parseManifests(text, name);
      if (objects.kind !== "done") return objects;
      live.push(...objects.value);
    }
    return done(after.value.flatMap((one) => againstLive(one, placed(live, one))));
  }
  const before = await renderManifests({ ...ask, revision: against.revision });
  if (before.kind !== "done") return { ...before, message: `at ${against.revision}: ${before.message}` };
  const nameOf = ({ app }: RenderedApplication) => app.metadata.name;
  const names = [...new Set([...before.value, ...after.value].map(nameOf))];
  return done(
    names.flatMap((name) => {
      const [old, now] = [before, after].map(({ value }) => value.find((one) => nameOf(one) === name));
      return compare((now ?? old)!, objectsOf(old), objectsOf(now));
    }),
  );
}

async function withCluster(ask: Ask, config: KubeConfig): Promise<Outcome<ManifestDifference[]>> {
  const client = new KubeClient(config);
  try {
    const version = await client.json<{ gitVersion: string }>("GET", "/version");
    if (version.kind !== "done") return version;
    const find = (group: string, version: string, kind: string) => client.discovery.find(group, version, kind);
    const rendered = await renderManifests({ ...ask, find, kubeVersion: ask.kubeVersion ?? version.value.gitVersion });
    if (rendered.kind !== "done") return rendered;
    const changes: ManifestDifference[] = [];
    for (const one of rendered.value) {
      const live = await readLive(client, one);
      if (live.kind !== "done") return live;
      const tried = await tryOut(client, one, new Map(live.value.map((object) => [keyOf(object), object])));
      changes.push(...againstLive(one, live.value, tried));
    }
    return done(changes);
  } finally {
    await client.close();
  }
}

/** The live objects of an application: each that is wanted, and those of the same kinds that carry its mark. */
async function readLive(client: KubeClient, { app, targets }: RenderedApplication): Promise<Outcome<KubeObject[]>> {
  const live = new Map<string, KubeObject>();
  const listed = new Set<string>();
  for (const { object, resource, hook } of targets) {
    if (!resource || hook || !object.metadata.name) continue;
    const { group, version, plural } = resource;
    const found = await client.get(resource, object.metadata.namespace, object.metadata.name);
    if (found.kind === "done") live.set(keyOf(found.value), found.value);
    else if (found.reason !== KUBE.notFound) return found;
    if (listed.has(`${group}/${version}/${plural}`)) continue;
    listed.add(`${group}/${version}/${plural}`);
    const marked = await client.list(resource, { labelSelector: `${META.app}=${appLabel(app.metadata.name)}` });
    if (marked.kind !== "done") return marked as Failure;
    // The live object is read in Git's API version: a HorizontalPodAutoscaler of v1 has other fields than one of v2.
    for (const item of marked.value.items) if (!live.has(keyOf(item))) live.set(keyOf(item), item);
  }
  return done([...live.values()]);
}

/** Hooks come and go, so they differ from nothing. */
const objectsOf = (one: RenderedApplication | undefined): KubeObject[] =>
  (one?.targets ?? []).filter(({ hook }) => !hook).map(({ object }) => withoutTracking(object, one!.settings.tracking));

/** Files are often written without the namespace that the application would give. */
function placed(live: KubeObject[], { targets, app }: RenderedApplication): KubeObject[] {
  const wanted = new Set(targets.map(({ key }) => key));
  const namespace = app.spec.destination.namespace ?? "";
  return live.map((object) => {
    const inside = { ...object, metadata: { ...object.metadata, namespace } };
    return !object.metadata.namespace && namespace && wanted.has(keyOf(inside)) ? inside : object;
  });
}

/** `tried` has the API server's dry runs; for other objects the result is predicted. */
function againstLive(
  one: RenderedApplication,
  live: KubeObject[],
  tried: ReadonlyMap<string, KubeObject> = new Map(),
): ManifestDifference[] {
  const byKey = new Map(live.map((object) => [keyOf(object), object]));
  const desired = objectsOf(one);
  const after = desired.map((object) => {
    const there = byKey.get(keyOf(object));
    if (!there) return object;
    return tried.get(keyOf(object)) ?? predict(object, there);
  });
  const wanted = new Set(desired.map(keyOf));
  const own = (object: KubeObject) => wanted.has(keyOf(object)) || isOwn(one, object);
  return compare(one, live.filter(own), after);
}

const isOwn = ({ app, settings }: RenderedApplication, object: KubeObject): boolean =>
  ownerOf(object, settings.tracking) === markOf(app.metadata.name, settings.tracking) &&
  !object.metadata.annotations?.[META.hook] &&
  belongs(app, { settings, server: app.spec.destination.server ?? "", own: app.metadata.namespace ?? "" })(object);

function compare(
  { app, settings }: RenderedApplication,
  before: KubeObject[],
  after: KubeObject[],
): ManifestDifference[] {
  // Another one each time: a digest tells only whether two values in one answer are equal.
  const salt = randomBytes(16).toString("hex");
  const [old, now] = [before, after].map((objects) => new Map(objects.map((object) => [keyOf(object), object])));
  const changes: ManifestDifference[] = [];
  for (const key of new Set([...now!.keys(), ...old!.keys()])) {
    const [live, desired] = [old!.get(key), now!.get(key)];
    const shown = (live ?? desired)!;
    const { pointers, ...others } = ignoring(app, settings.rules, shown);
    const rules = { ...others, pointers: [...pointers, ...filledIn(desired ?? shown, settings.compares)] };
    const keepsStatus = desired?.status !== undefined && wantsStatus(desired, settings.compares);
    const settled = (object: KubeObject) =>
      live && desired ? migrated(object, live, desired, settings.tracking) : object;
    const owned = live ? fieldsOf(live, rules.managers) : [];
    const bare = (object: KubeObject | undefined) =>
      object && without(plain(settled(object), settings.tracking, keepsStatus), rules, live && desired ? owned : []);
    const left = bare(live);
    const wanted = bare(desired);
    const right = left && wanted ? inSpellingOf(wanted, left, knownFieldsOf(shown, settings.knownFields)) : wanted;
    if (left && right && canonical(left) === canonical(right)) continue;
    const text = (object: KubeObject | undefined) => object && toYaml(masked(object, salt));
    changes.push({
      application: app.metadata.name,
      ...placeOf(shown),
      change: verb(live, desired),
      live: text(left),
      desired: text(right),
    });
  }
  return changes;
}

function verb(live?: KubeObject, desired?: KubeObject): ManifestDifference["change"] {
  if (!live) return "create";
  return desired ? "update" : "delete";
}

const placeOf = (object: KubeObject) => ({
  ...gvkOf(object),
  namespace: object.metadata.namespace ?? "",
  name: object.metadata.name ?? object.metadata.generateName ?? "",
});

/** What a person decided, with the values of a Secret in one form. */
function plain(given: KubeObject, tracking: Tracking, keepsStatus: boolean): KubeObject {
  const object = JSON.parse(JSON.stringify(withoutTracking(given, tracking))) as KubeObject & { status?: unknown };
  if (!keepsStatus) delete object.status;
  for (const field of ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"])
    delete object.metadata[field];
  delete object.metadata.annotations?.["kubectl.kubernetes.io/last-applied-configuration"];
  for (const field of ["annotations", "labels"] as const)
    if (object.metadata[field] && Object.keys(object.metadata[field]!).length === 0) delete object.metadata[field];
  if (object.kind === "Secret" && object.apiVersion === "v1" && object.stringData) {
    const encoded = Object.entries(object.stringData as object).map(([k, v]) => [
      k,
      Buffer.from(String(v)).toString("base64"),
    ]);
    object.data = { ...object.data, ...Object.fromEntries(encoded) };
    delete object.stringData;
  }
  return object;
}
