import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { generate } from "../../appset/generate.ts";
import { isOwned } from "../../appset/reconcile/application.ts";
import { withEnding } from "../../appset/reconcile/names.ts";
import { validateSpec } from "../../appset/reconcile/validate.ts";
import type { ApplicationSet, Generated } from "../../appset/types.ts";
import { clusterWorld } from "../../appset/world/cluster-world.ts";
import { lookIntegrity } from "../../controller/config/integrity.ts";
import { lookAccess } from "../../controller/loop/look.ts";
import { tenantOf } from "../../project/tenant.ts";
import { repositories } from "../credentials/repository-access.ts";
import { SECRET_TYPE } from "../credentials/secrets.ts";
import { rulesOf } from "./read-only-context.ts";
import { objectOf, type Read } from "./task.ts";

const MAX_TEXT = 4 * 1024 * 1024;

/** The only hosts that generators of sets may ask; undefined allows all. */
export const providersOf = (env: NodeJS.ProcessEnv): string[] | undefined =>
  env.OUTPOST_SCM_PROVIDERS?.split(",").flatMap((one) => one.trim() || []);

/** The applications that a set would make now; nothing is changed. */
export const applicationSetGenerate: Read = async (tc, task) => {
  const found = await objectOf(tc, task, "applicationsets");
  if (found.kind !== "done") return found;
  const { metadata, spec } = found.value as ApplicationSet;
  const problem = validateSpec(spec);
  if (problem) return stop("SetInvalid", problem);
  const { client, namespace } = tc.ctx;
  const [known, rules, clusters] = await Promise.all([
    repositories(tc.ctx),
    rulesOf(tc.ctx),
    client.list(RESOURCES.secret, { namespace, labelSelector: `${SECRET_TYPE}=cluster` }),
  ]);
  if (known.kind !== "done") return known;
  if (rules.kind !== "done") return rules;
  if (clusters.kind !== "done") return clusters;
  const { projects } = rules.value;
  const world = clusterWorld({
    home: client,
    namespace,
    repo: tc.repo,
    // With the same rules as the controller, so the answer is the same.
    access: (url, project, tenant) => lookAccess({ projects, repositories: known.value }, url, project, tenant),
    integrity: (url, project) => lookIntegrity({ projects }, url, project),
    tenant: tenantOf(found.value),
    allowedProviders: tc.providers,
    clusters: () => clusters.value.items,
  });
  const made: Outcome<Generated[]> = await generate(metadata.name, spec, world);
  if (made.kind !== "done") return made;
  if (JSON.stringify(made.value).length > MAX_TEXT)
    return stop("AnswerTooLarge", "the applications have more than 4 MB");
  const live = await client.list(RESOURCES.application, { namespace });
  if (live.kind !== "done") return live;
  const mine = new Set(live.value.items.flatMap((one) => (isOwned(one, found.value) ? one.metadata.name : [])));
  return done({ items: withEnding(found.value, made.value, (name) => mine.has(name)) });
};
