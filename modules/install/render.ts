/** The manifests and Helm values that the service hands out. Pure: the charts were rendered when the project was generated. */
import { createHash } from "node:crypto";
import { stringify } from "yaml";
import { type Filling, fill } from "./fill.ts";
import { agent_all_cluster } from "./generated/agent-all-cluster.ts";
import { agent_all_namespaced } from "./generated/agent-all-namespaced.ts";
import { agent_split_cluster } from "./generated/agent-split-cluster.ts";
import { agent_split_namespaced } from "./generated/agent-split-namespaced.ts";
import { crds } from "./generated/crds.ts";
import { delegate } from "./generated/delegate.ts";
import { namespace } from "./generated/namespace.ts";

/** The image that charts and manifests use unless another is named. */
export const DEFAULT_IMAGE = "ghcr.io/outpost-gitops/outpost:0.1.0";

export interface InstallValues {
  kind: "agent" | "delegate";
  id: string;
  account: string;
  org?: string;
  project?: string;
  /** Namespace in the cluster. */
  namespace: string;
  /** Agents: `cluster` manages every namespace, `namespaced` only its own. */
  mode?: "cluster" | "namespaced";
  /** Agents: four Deployments, or one. */
  layout?: "split" | "all";
  /** Address of the service, as the pods reach it. */
  endpoint: string;
  /** Enrolment token. */
  token: string;
  image?: string;
  redisImage?: string;
  httpsProxy?: string;
  noProxy?: string;
  imagePullSecret?: string;
  /** Delegates. */
  description?: string;
  tags?: readonly string[];
}

const AGENTS = {
  split: { cluster: agent_split_cluster, namespaced: agent_split_namespaced },
  all: { cluster: agent_all_cluster, namespaced: agent_all_namespaced },
};

/** Everything that installs an agent, for `kubectl apply -f -`. */
export function renderAgentManifest(values: InstallValues): string {
  const manifests = AGENTS[values.layout ?? "split"][values.mode ?? "cluster"];
  return documents([...namespace, ...crds, ...manifests], values);
}

/** Everything that installs a delegate, for `kubectl apply -f -`. */
export function renderDelegateManifest(values: InstallValues): string {
  return documents([...namespace, ...delegate], values);
}

/** Values for the chart `outpost-agent`. */
export function renderAgentValues(values: InstallValues): string {
  const { id, account, org, project, endpoint, token, image, redisImage, httpsProxy, noProxy, imagePullSecret } = values;
  const some = (object: Record<string, unknown>) => {
    const given = Object.entries(object).filter(([, value]) => value !== undefined);
    return given.length > 0 ? Object.fromEntries(given) : undefined;
  };
  return yaml(
    some({
      agent: some({ id, account, org, project }),
      endpoint,
      token,
      mode: values.layout ?? "split",
      namespaced: values.mode === "namespaced",
      image: some({ reference: image, pullSecrets: imagePullSecret === undefined ? undefined : [imagePullSecret] }),
      redis: redisImage === undefined ? undefined : { image: { reference: redisImage } },
      proxy: some({ httpsProxy, noProxy }),
    }),
  );
}

function documents(manifests: readonly object[], values: InstallValues): string {
  const filling = fillingOf(values);
  return manifests.map((manifest) => yaml(fill(manifest, filling))).join("---\n");
}

/** Every string is quoted: Kubernetes reads YAML 1.1, where a bare `no` or `1e3` is no string. */
const yaml = (value: unknown) =>
  stringify(value, { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN", lineWidth: 0, aliasDuplicateObjects: false });

function fillingOf(values: InstallValues): Filling {
  // The passwords between the agent's programs are drawn from the token: as hard to guess, and the same in each rendering of it.
  const repoToken = sha256(`outpost/repo-token\n${values.token}`).slice(0, 48);
  const redisPassword = sha256(`outpost/redis-password\n${values.token}`).slice(0, 48);
  const { id, account, org = "-", project = "-", endpoint, token, httpsProxy, imagePullSecret, image = DEFAULT_IMAGE } = values;
  return {
    id,
    delegateName: `outpost-delegate-${id}`.slice(0, 63).replace(/-+$/, ""),
    account,
    org,
    project,
    namespace: values.namespace,
    endpoint,
    token,
    tokenDigest: sha256(token).slice(0, 12),
    image,
    redisImage: values.redisImage ?? image,
    imagePullSecret,
    httpsProxy,
    // Without a proxy the whole entry goes; with one, the cluster's own addresses stay.
    moreNoProxy: httpsProxy === undefined ? undefined : ["", ...(values.noProxy ?? "").split(",").filter(Boolean)].join(","),
    repoToken,
    redisPassword,
    internalDigest: sha256(`${repoToken}:${redisPassword}`).slice(0, 12),
    description: values.description,
    tags: values.tags?.length ? values.tags.join(",") : undefined,
  };
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
