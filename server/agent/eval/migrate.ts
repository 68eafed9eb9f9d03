import { pino } from "pino";
import { readYaml } from "../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { inParallel } from "../../base/process/parallel.ts";
import { Secret } from "../../base/secret.ts";
import { KubeClient } from "../../kube/client.ts";
import type { KubeConfig } from "../../kube/config.ts";
import { type KubeObject, objectKey } from "../../kube/object.ts";
import { RESOURCES } from "../../kube/path.ts";
import { type Application, META } from "../controller/application.ts";
import { localRepo } from "../controller/engine.ts";
import type { AgentContext } from "../link/context.ts";
import { isOurs } from "../link/patterns.ts";
import { applicationDiff } from "../link/queries/diff.ts";
import { instanceOf } from "../project/instance.ts";

export { loadConfig } from "../../kube/config.ts";

/** What Outpost's engine would do otherwise than Argo CD with one object. */
export interface Differing {
  application: string;
  object: string;
  /** `status`: Argo CD says OutOfSync, Outpost finds nothing to write. */
  change: "create" | "update" | "delete" | "status";
  /** Pointers of the fields that would be written. */
  fields: string[];
  /** An application that syncs automatically writes as soon as the engine has started. */
  atOnce: boolean;
}

export interface MigrationAsk {
  config: KubeConfig;
  /** Of the Applications. */
  namespace: string;
  /** Only these, as `name` or `namespace_name`; empty for all. */
  applications: readonly string[];
  env: NodeJS.ProcessEnv;
}

export interface Migration {
  checked: number;
  differing: Differing[];
  /** Why an application could not be compared. */
  failed: string[];
}

/**
 * Compares each application with its live objects by Outpost's engine, and the result with what Argo CD found. Nothing is written: applies are dry
 * runs. The repositories are read with the credentials of the namespace.
 */
export async function checkMigration({
  config,
  namespace,
  applications,
  env,
}: MigrationAsk): Promise<Outcome<Migration>> {
  const client = new KubeClient(config);
  const local = await localRepo(env);
  try {
    const ctx: AgentContext = {
      client,
      namespace,
      account: "",
      sealSeed: new Secret(""),
      log: pino({ level: "silent" }),
    };
    const listed = await applicationsOf(ctx);
    if (listed.kind !== "done") return listed;
    const instance = (app: KubeObject) => instanceOf(app, namespace);
    const wanted = listed.value.filter((app) => applications.length === 0 || applications.includes(instance(app)));
    const missing = applications.find((name) => !wanted.some((app) => instance(app) === name));
    if (missing) return stop("NotFound", `there is no Application ${missing} in namespace ${namespace}`);
    const differing: Differing[] = [];
    const failed: string[] = [];
    await inParallel(wanted as Application[], async (app) => {
      const { metadata } = app;
      const live = { namespace: metadata.namespace, name: metadata.name, uid: metadata.uid };
      const compared = await applicationDiff({ ctx, repo: local.door, lookup: async () => local.door }, question(live));
      if (compared.kind === "done") differing.push(...differingOf(instance(app), app, compared.value.items as Item[]));
      else failed.push(`Application ${instance(app)}: ${compared.reason}: ${compared.message}`);
    });
    const order = (one: Differing) => `${one.application} ${one.object}`;
    return done({
      checked: wanted.length,
      differing: differing.sort((a, b) => (order(a) < order(b) ? -1 : 1)),
      failed: failed.sort(),
    });
  } finally {
    await local.close();
    await client.close();
  }
}

const question = (live: object) => ({ task: "migrate", kind: "application.diff", params: { live } });

/** Those of the namespace, and those elsewhere that Argo CD's settings name. */
async function applicationsOf(ctx: AgentContext): Promise<Outcome<KubeObject[]>> {
  const everywhere = await ctx.client.list(RESOURCES.application);
  const listed =
    everywhere.kind === "done"
      ? everywhere
      : await ctx.client.list(RESOURCES.application, { namespace: ctx.namespace });
  if (listed.kind !== "done") return listed;
  const namespaces = new Set(listed.value.items.map(({ metadata }) => metadata.namespace ?? ctx.namespace));
  const ours = new Set<string>();
  for (const one of namespaces) if (await isOurs(ctx, RESOURCES.application.kind, one)) ours.add(one);
  return done(listed.value.items.filter(({ metadata }) => ours.has(metadata.namespace ?? ctx.namespace)));
}

interface Item {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
  change: "create" | "update" | "delete";
  fields?: { path: string }[];
  /** YAML. */
  desired?: string;
}

// Our engine puts it on whatever it takes over, by a patch of metadata that changes nothing else.
const INDEX = `/metadata/labels/${META.app.replaceAll("/", "~1")}`;

const LABELS = "/metadata/labels";

/** An object without labels gets its first one with it, and so differs in all of them. */
function hasIndexAlone(desired: string): boolean {
  const labels = (readYaml(desired) as KubeObject | null)?.metadata?.labels ?? {};
  return Object.keys(labels).every((key) => key === META.app);
}

/** Where the verdicts are not the same. */
export function differingOf(application: string, app: Application, items: readonly Item[]): Differing[] {
  const automated = app.spec.syncPolicy?.automated;
  const atOnce = automated !== undefined && automated.enabled !== false;
  const theirs = new Map(
    (app.status?.resources ?? [])
      .filter((row) => row.status === "OutOfSync" && !row.hook)
      .map((row) => [objectKey(row.group ?? "", row.kind, row.namespace ?? "", row.name), row]),
  );
  const differing: Differing[] = [];
  for (const { group = "", kind, namespace = "", name, change, fields = [], desired = "" } of items) {
    const paths = fields
      .map(({ path }) => path)
      .filter((path) => path !== INDEX && !(path === LABELS && hasIndexAlone(desired)));
    if (change === "update" && fields.length > 0 && paths.length === 0) continue;
    // Argo CD says the same of it: the engine makes no difference.
    if (theirs.delete(objectKey(group, kind, namespace, name))) continue;
    differing.push({ application, object: shown(group, kind, namespace, name), change, fields: paths, atOnce });
  }
  for (const { group = "", kind, namespace = "", name } of theirs.values())
    differing.push({
      application,
      object: shown(group, kind, namespace, name),
      change: "status",
      fields: [],
      atOnce: false,
    });
  return differing;
}

const shown = (group: string, kind: string, namespace: string, name: string): string =>
  `${group ? `${group}/` : ""}${kind} ${namespace ? `${namespace}/` : ""}${name}`;
