/** The manifests and Helm values that the service hands out. Pure: the charts were rendered when the project was generated. */
import { createHash } from "node:crypto";
import { type Filling, fill } from "./fill.ts";
import { agentLayouts, agentObjects } from "./generated/agent.ts";
import { crds } from "./generated/crds.ts";
import { delegate } from "./generated/delegate.ts";
import { namespace } from "./generated/namespace.ts";
import { isFilled, shape } from "./shape.ts";
import { DEFAULT_IMAGE, delegateName, type InstallValues, permissionsOf } from "./values.ts";
import { comment, some, yaml } from "./yaml.ts";

/** Everything that installs an agent, for `kubectl apply -f -`. */
export function renderAgentManifest(values: InstallValues): string {
  const beside = values.engine === "argocd";
  const places = agentLayouts[beside ? "beside" : (values.layout ?? "split")][values.mode ?? "cluster"];
  // Beside an Argo CD its definitions are there.
  return documents([...namespace, ...(beside ? [] : crds), ...places.map((at) => agentObjects[at])], values);
}

/** Everything that installs a delegate, for `kubectl apply -f -`. */
export function renderDelegateManifest(values: InstallValues): string {
  const { id, namespace: into, token, existingSecret } = values;
  const missing = token === undefined && existingSecret === undefined;
  const head = comment(
    "The replicas wait for their enrolment token. Put it in once the namespace exists:",
    `  outpost delegate token ${id} | tr -d '\\n' | kubectl -n ${into} create secret generic ${delegateName(id)}-token --from-file=token=/dev/stdin`,
    `  kubectl -n ${into} rollout restart deployment ${delegateName(id)}`,
  );
  return (missing ? head : "") + documents([...namespace, ...delegate], values);
}

/** Values for the chart `outpost-agent`. */
export function renderAgentValues(values: InstallValues): string {
  const {
    id,
    account,
    org,
    project,
    endpoint,
    token,
    image,
    redisImage,
    httpsProxy,
    noProxy,
    imagePullSecret,
    caCertificate,
  } = values;
  const body = some({
    agent: some({ id, account, org, project }),
    endpoint,
    token,
    // Said each time, so that an upgrade with these values switches either way.
    engine: values.engine === "argocd" ? "none" : "outpost",
    mode: values.layout ?? "split",
    namespaced: values.mode === "namespaced",
    image: some({ reference: image, pullSecrets: imagePullSecret === undefined ? undefined : [imagePullSecret] }),
    scmProviders: values.scmProviders?.length ? [...values.scmProviders] : undefined,
    controller: some({ shards: values.shards, shardBy: values.shardBy }),
    redis: redisImage === undefined ? undefined : { image: { reference: redisImage } },
    proxy: some({ httpsProxy, noProxy }),
    ca: some({ bundle: caCertificate }),
  });
  const head = comment("The enrolment token is missing here: add the value `token`, from `outpost agent token`.");
  return (token === undefined ? head : "") + yaml(body);
}

function documents(manifests: readonly object[], values: InstallValues): string {
  const filling = fillingOf(values);
  const filled = shape(manifests, values).map((manifest) => fill(manifest, filling));
  return filled.filter(isFilled).map(yaml).join("---\n");
}

function fillingOf(values: InstallValues): Filling {
  const {
    id,
    account,
    org = "-",
    project = "-",
    endpoint,
    token,
    httpsProxy,
    imagePullSecret,
    image = DEFAULT_IMAGE,
  } = values;
  const { initScript, caCertificate } = values;
  // The passwords between the agent's programs are drawn from the token: as hard to guess, and the same in each rendering of it.
  const drawn = (what: string) => (token === undefined ? undefined : sha256(`outpost/${what}\n${token}`).slice(0, 48));
  const repoToken = drawn("repo-token");
  const redisPassword = drawn("redis-password");
  const readsToken = drawn("reads-token");
  return {
    id,
    delegateName: delegateName(id),
    account,
    org,
    project,
    namespace: values.namespace,
    endpoint,
    token,
    // As the chart says it when the token is in a Secret that it does not make.
    tokenDigest: token === undefined ? "none" : sha256(token).slice(0, 12),
    image,
    redisImage: values.redisImage ?? image,
    imagePullSecret,
    httpsProxy,
    // Without a proxy the whole entry goes; with one, the cluster's own addresses stay.
    moreNoProxy:
      httpsProxy === undefined ? undefined : ["", ...(values.noProxy ?? "").split(",").filter(Boolean)].join(","),
    repoToken,
    redisPassword,
    readsToken,
    internalDigest: sha256(`${repoToken}:${redisPassword}:${readsToken}`).slice(0, 12),
    scmProviders: values.scmProviders?.length ? values.scmProviders.join(",") : undefined,
    description: values.description,
    tags: values.tags?.length ? values.tags.join(",") : undefined,
    caCertificate,
    initScript,
    initDigest: initScript === undefined ? undefined : sha256(initScript).slice(0, 12),
    clusterRole: clusterRoleOf(values.permissions),
  };
}

/** As the chart maps levels to Kubernetes's own roles. */
function clusterRoleOf(permissions?: string): string {
  const { level, clusterRole } = permissionsOf(permissions);
  return clusterRole ?? (level === "cluster-viewer" ? "view" : "cluster-admin");
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
