import { pino } from "pino";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { inParallel } from "../../../base/process/parallel.ts";
import { Secret } from "../../../base/secret.ts";
import { KubeClient } from "../../../kube/client.ts";
import type { KubeConfig } from "../../../kube/config.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES, type Resource } from "../../../kube/path.ts";
import { APPLICATION_SET } from "../../appset/reconcile/reconcile.ts";
import type { ApplicationSet } from "../../appset/types.ts";
import type { Application } from "../../controller/application.ts";
import { localRepo } from "../../controller/engine.ts";
import type { AgentContext } from "../../link/context.ts";
import { SECRET_TYPE } from "../../link/credentials/secrets.ts";
import { isOurs } from "../../link/patterns.ts";
import { providersOf } from "../../link/queries/generate.ts";
import { withDeps } from "../../link/queries/read-only-context.ts";
import { instanceOf } from "../../project/instance.ts";
import { type Differing, differingOf, firstLook, isBehind } from "./first-look.ts";
import { firstLookAtSet, type SetsAsk } from "./first-look-sets.ts";

export { loadConfig } from "../../../kube/config.ts";

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
  /** How many sets were looked at. */
  sets: number;
  differing: Differing[];
  /** Why an application could not be compared, though Argo CD compares it. */
  failed: string[];
  /** The same of those that Argo CD cannot compare either. */
  neither: string[];
  /** Differing ones of which Argo CD has not looked at the newest commit: it may do the same with it. */
  behind: string[];
}

/**
 * Lets the controller's own phases look at each application once, up to the decision what to do, and compares the result with what Argo CD found.
 * Nothing is written: every write is a dry run. The repositories are read with the credentials of the namespace.
 */
export async function checkMigration(ask: MigrationAsk): Promise<Outcome<Migration>> {
  const { config, namespace, applications, env } = ask;
  const client = new KubeClient(config, { tryOnly: true });
  const local = await localRepo(env);
  try {
    const log = pino({ level: "silent" });
    const ctx: AgentContext = { client, namespace, account: "", sealSeed: new Secret(""), log };
    const listed = await listedOf(ctx, RESOURCES.application);
    if (listed.kind !== "done") return listed;
    const instance = (app: KubeObject) => instanceOf(app, namespace);
    const all = listed.value as Application[];
    const wanted = all.filter((app) => applications.length === 0 || applications.includes(instance(app)));
    const missing = applications.find((name) => !wanted.some((app) => instance(app) === name));
    if (missing) return stop("NotFound", `there is no Application ${missing} in namespace ${namespace}`);
    const found: Migration = { checked: wanted.length, sets: 0, differing: [], failed: [], neither: [], behind: [] };
    return await withDeps({ ctx, repo: local.door, lookup: async () => local.door }, async (deps) => {
      for (const app of all) deps.store.seen(app);
      await inParallel(wanted, async (app) => {
        const looked = await firstLook(deps, app);
        if (looked.kind === "differs") {
          const differing = await differingOf(app, looked);
          found.differing.push(...differing);
          if (differing.length && isBehind(app, looked)) found.behind.push(instance(app));
        } else if (looked.kind === "deletion") found.differing.push(deletionOf(instance(app)));
        else if (looked.kind === "unknown")
          (isUnknownThere(app) ? found.neither : found.failed).push(`Application ${instance(app)}: ${looked.why}`);
      });
      if (applications.length === 0) await lookAtSets(ctx, { deps, providers: providersOf(env) }, found);
      return done(inOrder(found));
    });
  } finally {
    await local.close();
    await client.close();
  }
}

const deletionOf = (application: string): Differing => ({
  application,
  object: `Application ${application}`,
  change: "deletion",
  fields: [],
  atOnce: true,
});

/** What the sets would make of their applications. */
async function lookAtSets(ctx: AgentContext, ask: Omit<SetsAsk, "clusters">, found: Migration): Promise<void> {
  const sets = await listedOf(ctx, APPLICATION_SET);
  // A cluster may not have the kind.
  if (sets.kind !== "done" && sets.reason === KUBE.notFound) return;
  const labelSelector = `${SECRET_TYPE}=cluster`;
  const secrets = await ctx.client.list(RESOURCES.secret, { namespace: ctx.namespace, labelSelector });
  if (sets.kind !== "done" || secrets.kind !== "done") {
    const failure = sets.kind === "done" ? secrets : sets;
    if (failure.kind !== "done") found.failed.push(`application sets: ${failure.reason}: ${failure.message}`);
    return;
  }
  found.sets = sets.value.length;
  await inParallel(sets.value as ApplicationSet[], async (set) => {
    const looked = await firstLookAtSet({ ...ask, clusters: secrets.value.items }, set);
    found.differing.push(...looked.found);
    if (looked.unknown)
      (looked.there ? found.neither : found.failed).push(
        `ApplicationSet ${instanceOf(set, ctx.namespace)}: ${looked.unknown}`,
      );
  });
}

/** Those of the namespace, and those elsewhere that Argo CD's settings name. */
async function listedOf(ctx: AgentContext, resource: Resource): Promise<Outcome<KubeObject[]>> {
  const everywhere = await ctx.client.list(resource);
  const listed =
    everywhere.kind === "done" ? everywhere : await ctx.client.list(resource, { namespace: ctx.namespace });
  if (listed.kind !== "done") return listed;
  const namespaces = new Set(listed.value.items.map(({ metadata }) => metadata.namespace ?? ctx.namespace));
  const ours = new Set<string>();
  for (const one of namespaces) if (await isOurs(ctx, resource.kind, one)) ours.add(one);
  return done(listed.value.items.filter(({ metadata }) => ours.has(metadata.namespace ?? ctx.namespace)));
}

const UNKNOWN = new Set(["ComparisonError", "InvalidSpecError", "UnknownError"]);
const isUnknownThere = ({ status }: Application): boolean =>
  status?.conditions?.some(({ type }) => UNKNOWN.has(type)) === true;

function inOrder({ differing, failed, neither, behind, ...counts }: Migration): Migration {
  const order = (one: Differing) => `${one.application} ${one.object}`;
  return {
    ...counts,
    differing: differing.sort((a, b) => (order(a) < order(b) ? -1 : 1)),
    failed: failed.sort(),
    neither: neither.sort(),
    behind: behind.sort(),
  };
}
