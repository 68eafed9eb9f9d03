import { done, type Outcome } from "../../../base/outcome.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { Repositories } from "../../controller/config/repositories.ts";
import { Destinations } from "../../controller/destination.ts";
import type { RepoAccess } from "../../repo/types.ts";
import type { AgentContext } from "../context.ts";
import { SECRET_TYPE } from "./secrets.ts";

/** The access to a repository by its own Secret, credential templates and trusted keys: exactly as the controller has it. */
export async function repositoryAccess(ctx: AgentContext, secret: KubeObject): Promise<Outcome<RepoAccess>> {
  const known = await repositories(ctx);
  return known.kind === "done" ? done(known.value.of(secret)) : known;
}

/** All that the Secrets of the agent's namespace say about repositories, as they are now. */
export async function repositories(ctx: AgentContext): Promise<Outcome<Repositories>> {
  const secrets = (type: string) =>
    ctx.client.list(RESOURCES.secret, { namespace: ctx.namespace, labelSelector: `${SECRET_TYPE}=${type}` });
  const [repositories, templates, trust] = await Promise.all([
    secrets("repository"),
    secrets("repo-creds"),
    ctx.client.list(RESOURCES.configMap, {
      namespace: ctx.namespace,
      labelSelector: "app.kubernetes.io/part-of=argocd",
    }),
  ]);
  if (repositories.kind !== "done") return repositories;
  if (templates.kind !== "done") return templates;
  if (trust.kind !== "done") return trust;
  const all = new Repositories();
  all.replaceRepositories(repositories.value.items);
  all.replaceTemplates(templates.value.items);
  all.replaceTrust(trust.value.items);
  return done(all);
}

/** Provides a client for the cluster of a Secret, in its present state. */
export async function withCluster<T>(
  ctx: AgentContext,
  secret: KubeObject,
  work: (client: KubeClient) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const listed = await ctx.client.list(RESOURCES.secret, {
    namespace: ctx.namespace,
    labelSelector: `${SECRET_TYPE}=cluster`,
  });
  if (listed.kind !== "done") return listed;
  const destinations = new Destinations({
    home: ctx.client,
    own: ctx.namespace,
    namespaces: [],
    changed: () => undefined,
    signal: new AbortController().signal,
  });
  try {
    destinations.replace(listed.value.items);
    const found = await destinations.of(secret);
    return found.kind === "done" ? await work(found.value.client) : found;
  } finally {
    await destinations.close();
  }
}
