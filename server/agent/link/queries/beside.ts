import { randomBytes } from "node:crypto";
import { done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { inParallel } from "../../../base/process/parallel.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Application, ResourceStatus } from "../../controller/application.ts";
import type { RepoApi } from "../../repo/types.ts";
import { defined } from "../deliveries/spec.ts";
import { masked, toYaml } from "./mask.ts";
import { type ReadOnlyContext, withReadOnlyContext } from "./read-only-context.ts";
import { objectOf, type Read } from "./task.ts";
import { applicationResource } from "./tree/resource.ts";

/** Without our controller and repo server: Argo CD works, and the agent shows and asks. */
export const NOT_WITH_ARGO_CD = "NotWithArgoCD";
const PARALLEL = 8;
const MAX_ITEMS = 500;
const MAX_TEXT = 4 * 1024 * 1024;

/** Whether the agent is only the link beside an Argo CD. */
export const isBeside = (env: NodeJS.ProcessEnv): boolean => env.OUTPOST_ENGINE === "none";

const RENDERS = "needs a repo server of Outpost, which an agent beside Argo CD does not have";
const WHY: Record<string, string> = {
  "application.manifests": `rendering ${RENDERS}: use \`argocd app manifests\`, or \`outpost admin render\` with the repository at hand`,
  "application.revision": `the author and message of a commit ${RENDERS}: look the commit up in its repository`,
  "application.action":
    "actions on single objects need Outpost's controller, which does not run beside Argo CD: use `argocd app actions run`",
  "applicationset.generate": `what a set would make ${RENDERS}: use \`argocd appset generate\``,
  "repository.refs": `listing branches and tags ${RENDERS}`,
  "repository.charts": `listing charts ${RENDERS}`,
  "repository.changed":
    "Argo CD is told of pushes by its own webhook: point the repository's webhook to it, or refresh the application",
};

/** Why a question has no answer beside Argo CD. */
export const refusedBeside = (kind: string): Failure | undefined =>
  WHY[kind] === undefined ? undefined : stop(NOT_WITH_ARGO_CD, WHY[kind]);

/** In place of a repo server: answers that there is none. */
export function noRepo(): RepoApi {
  const refuse = () => Promise.resolve(stop(NOT_WITH_ARGO_CD, `this ${RENDERS}`));
  return {
    render: refuse,
    refs: refuse,
    look: refuse,
    survey: refuse,
    revision: refuse,
    charts: refuse,
    probe: refuse,
  };
}

/** One object, and no actions: they need our controller. */
export const objectBeside: Read = async (tc, task) => {
  const found = await applicationResource(tc, task);
  return found.kind === "done" ? done({ ...found.value, actions: [] }) : found;
};

/**
 * The objects that Argo CD calls OutOfSync, each with the live object. Git's side is not known here: the verdict, and whether the object would
 * be created, changed or deleted, come from the application's status.
 */
export const outOfSync: Read = async (tc, task) => {
  const found = await objectOf(tc, task, "applications");
  if (found.kind !== "done") return found;
  return withReadOnlyContext(
    tc,
    found.value as Application,
    async (readOnlyContext): Promise<Outcome<Record<string, unknown>>> => {
      const { status } = readOnlyContext.app;
      const rows = (status?.resources ?? [])
        .filter((row) => row.status === "OutOfSync" && !row.hook)
        .slice(0, MAX_ITEMS);
      const salt = randomBytes(16).toString("hex");
      const items = await inParallel(
        rows,
        async (row) => {
          const live = await liveOf(readOnlyContext, row);
          const { group, kind, namespace, name } = row;
          const write = live === "none" ? "create" : "update";
          const change = row.requiresPruning ? "delete" : write;
          const text = typeof live === "object" ? toYaml(readOnlyContext.reads.hide(masked(live, salt))) : undefined;
          return defined({
            group: group || undefined,
            kind,
            namespace: namespace || undefined,
            name,
            change,
            live: text,
          });
        },
        PARALLEL,
      );
      if (JSON.stringify(items).length > MAX_TEXT) return stop("AnswerTooLarge", "the differences have more than 4 MB");
      return done(defined({ revision: status?.sync?.revision, revisions: status?.sync?.revisions, items }));
    },
  );
};

/** The object as it is; it is not there, or may not be seen. */
async function liveOf({ destination }: ReadOnlyContext, row: ResourceStatus): Promise<KubeObject | "none" | "unseen"> {
  const kind = await destination.client.discovery.find(row.group ?? "", row.version, row.kind);
  if (kind.kind !== "done") return kind.reason === KUBE.kindNotFound ? "none" : "unseen";
  if (destination.refuse?.(shapeOf(row), kind.value)) return "unseen";
  const got = await destination.client.get(kind.value, kind.value.namespaced ? row.namespace : undefined, row.name);
  if (got.kind === "done") return got.value;
  return got.reason === KUBE.notFound ? "none" : "unseen";
}

const shapeOf = ({ group, version, kind, namespace, name }: ResourceStatus): KubeObject => ({
  apiVersion: group ? `${group}/${version}` : version,
  kind,
  metadata: { name, ...(namespace ? { namespace } : {}) },
});
