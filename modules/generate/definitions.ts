/** The HCL modules that are generated: each one a construct with variables. */
import { propertyAccess, TerraformIterator, Token } from "cdktf";
import { l1, OutpostAgent, OutpostDelegate, type OutpostNamespace } from "../constructs/index.ts";
import type { WorkerRelease } from "../constructs/worker.ts";
import type { ModuleDefinition, ModuleStack } from "./module.ts";
import { projectModule } from "./project.ts";

const TOKEN_COMMENT =
  "In neither plan nor state. The uid is unknown until the worker exists: a plan before that opens no token.";
const NAMESPACE_COMMENT = "A release of its own, since Helm's create_namespace leaves the namespace behind on destroy.";

const agentModule: ModuleDefinition = {
  name: "agent",
  title: "Outpost agent",
  about: `Registers an agent with the service and installs it into the cluster of the \`helm\` provider: its namespace, its custom
resource definitions and the chart \`outpost-agent\`. The apply ends when the agent is connected.

The enrolment token is ephemeral and reaches the chart write-only, so it is in neither plan nor state. On destroy everything
goes that the module made. Refer to the agent by \`module.agent.agent_id\`: what refers to it is made after the agent is
connected and destroyed before the agent goes.`,
  example: `module "agent" {
  source   = "…/modules/hcl/agent"
  id       = "production"
  endpoint = "https://outpost.example.com"
}

# Beside an Argo CD: what its projects \`shop-*\` hold is shown in the organization \`shop\`.
module "argo" {
  source                = "…/modules/hcl/agent"
  id                    = "argo"
  endpoint              = "https://outpost.example.com"
  namespace             = "argocd"
  create_namespace      = false
  engine                = "argocd"
  argo_project_mappings = { shop = { argo_project = "shop-*", target_org = "shop" } }
}`,
  comments: {
    "ephemeral.outpost_agent_token.agent": TOKEN_COMMENT,
    "helm_release.namespace": NAMESPACE_COMMENT,
    "helm_release.agent": "The token is write-only. The provider reads it at create and when the revision rises.",
  },
  build(stack) {
    const common = commonVariables(stack, "agent", "outpost-agent");
    const engine = stack.variable("engine", {
      type: "string",
      default: "outpost",
      description:
        "What keeps applications equal to Git. `outpost`: the agent's own controller and repo server. `argocd`: an Argo CD that runs in `namespace`; then only the link and a reader are installed.",
      validation: [oneOf("engine", ["outpost", "argocd"])],
    });
    const mode = stack.variable("mode", {
      type: "string",
      default: "split",
      description: "`split`: agent, controller, repo server and Redis as four Deployments. `all`: one Deployment.",
      validation: [oneOf("mode", ["split", "all"])],
    });
    const access = stack.variable("access", {
      type: "string",
      default: "cluster",
      description: "`cluster`: the agent may manage every namespace. `namespaced`: only its own.",
      validation: [oneOf("access", ["cluster", "namespaced"])],
    });
    const keepCrds = stack.variable("keep_crds", {
      type: "bool",
      default: false,
      description:
        "Keep the definitions of argoproj.io, and so every Application in the cluster, on destroy. Say true when several agents share a cluster.",
    });
    const shards = stack.variable("shards", {
      type: "number",
      default: 1,
      description: "Controllers that share the applications, each a Deployment of its own; in the mode `split`.",
    });
    const shardBy = stack.variable("shard_by", {
      type: "string",
      default: "application",
      description: "What stays together on one shard: `application`, or `cluster` for all applications of one.",
      validation: [oneOf("shard_by", ["application", "cluster"])],
    });
    const applicationNamespaces = stack.variable("application_namespaces", {
      type: "list(string)",
      default: [],
      description:
        "Other namespaces in which there may be Applications and ApplicationSets: names, globs and `/expressions/`. A project must name them too.",
    });
    const scmProviders = stack.variable("scm_providers", {
      type: "list(string)",
      default: [],
      description: "The only hosts that application sets may ask for repositories and pull requests; none allows all.",
    });
    const mappings = stack.variable("argo_project_mappings", {
      type: "map(object({ argo_project = string, target_org = optional(string), target_project = optional(string) }))",
      default: {},
      description:
        "Shows the discovered objects of Argo CD projects in organizations and projects, by the id of the mapping. `argo_project` is a name or a glob; `target_org` may be left out if the agent belongs to an organization.",
    });
    const agent = new OutpostAgent(stack, "agent", {
      ...common,
      shards: shards.numberValue,
      shardBy: shardBy.stringValue,
      applicationNamespaces: applicationNamespaces.listValue,
      scmProviders: scmProviders.listValue,
      agentId: common.id,
      engine: engine.stringValue,
      mode: mode.stringValue,
      access: access.stringValue,
      keepCrds: keepCrds.booleanValue,
    });
    nameReleases(agent.install, "agent");
    const each = TerraformIterator.fromMap(mappings.value as never);
    // The registration is enough: what is discovered later is shown at its place from the first report on.
    const mapping = new l1.ArgoProjectMapping(stack, "mapping", {
      forEach: each,
      id: each.key,
      org: common.org,
      project: common.project,
      agent: agent.agent.id,
      argoProject: Token.asString(propertyAccess(each.value, ["argo_project"])),
      targetOrg: Token.asString(propertyAccess(each.value, ["target_org"])),
      targetProject: Token.asString(propertyAccess(each.value, ["target_project"])),
    });
    mapping.overrideLogicalId("agent");
    stack.output("agent_id", {
      value: agent.agent.id,
      description: "Id of the agent, once it is connected.",
      dependsOn: agent.ready,
    });
    stack.output("uid", { value: agent.agent.uid, description: "UID that the service gave the agent." });
    stack.output("namespace", {
      value: agent.install.release.namespace,
      description: "Namespace in which the agent runs.",
    });
  },
};

const delegateModule: ModuleDefinition = {
  name: "delegate",
  title: "Outpost delegate",
  about: `Registers a delegate with the service and installs it into the cluster of the \`helm\` provider: its namespace and the
chart \`outpost-delegate\`. The apply ends when its replicas are connected and ready for tasks.

The enrolment token is ephemeral and reaches the chart write-only, so it is in neither plan nor state. Raise
\`token_revision\` to enrol with a new token. On destroy everything goes that the module made.`,
  example: `module "delegate" {
  source   = "…/modules/hcl/delegate"
  id       = "builder"
  endpoint = "https://outpost.example.com"
  tags     = ["linux", "build"]
}`,
  comments: {
    "ephemeral.outpost_delegate_token.delegate": TOKEN_COMMENT,
    "helm_release.namespace": NAMESPACE_COMMENT,
    "helm_release.delegate":
      "The token is write-only. The provider reads it at create and when the revision rises; the chart keeps what it has.",
  },
  build(stack) {
    const common = commonVariables(stack, "delegate", "outpost-delegate");
    const tags = stack.variable("tags", {
      type: "list(string)",
      default: [],
      description: "Selectors of tasks choose by these.",
    });
    const capacity = stack.variable("capacity", {
      type: "number",
      default: 10,
      description: "Tasks that one replica runs at the same time.",
    });
    const replicas = stack.variable("replicas", {
      type: "number",
      default: 1,
      description: "Replicas; each one takes tasks.",
    });
    const maxReplicas = stack.variable("max_replicas", {
      type: "number",
      default: 0,
      description: "With more than 0 an autoscaler chooses between `replicas` and this, by the use of CPU.",
    });
    const text = (name: string, value: string, description: string) =>
      stack.variable(name, { type: "string", default: value, description }).stringValue;
    const initScript = text(
      "init_script",
      "",
      "Shell script that runs before each replica starts; what it puts into `$TOOLS/bin` is on the PATH of tasks.",
    );
    const config = text(
      "config",
      "{}",
      "The delegate's settings file, YAML: sources of secrets and their scopes, bounds of tasks. Not for secrets.",
    );
    const proxySecret = text("proxy_secret", "", "Secret of the namespace with the proxy's `username` and `password`.");
    const secretsFrom = stack.variable("secrets_from", {
      type: "list(string)",
      default: [],
      description:
        "Names of Secrets of the namespace that tasks may refer to, such as `file/NAME/KEY`. Only tasks of the delegate's own scope may; `config` opens them to scopes below: `sources: { file: { paths: { NAME: { scopes: [ORG] } } } }`.",
    });
    const permissions = stack.variable("permissions", {
      type: "string",
      default: "none",
      description:
        "What tasks may do with the delegate's own in-cluster credentials: `none`, `namespace-admin`, `cluster-viewer`, `cluster-admin`, or `custom` with `cluster_role`.",
      validation: [oneOf("permissions", ["none", "namespace-admin", "cluster-viewer", "cluster-admin", "custom"])],
    });
    const clusterRole = stack.variable("cluster_role", {
      type: "string",
      default: "",
      description: "A ClusterRole of yours, for the permissions `custom`.",
    });
    const tokenExpiresIn = stack.variable("token_expires_in", {
      type: "string",
      default: "87600h",
      description: "How long replicas can enrol with the token; it can be revoked before.",
    });
    const delegate = new OutpostDelegate(stack, "delegate", {
      ...common,
      delegateId: common.id,
      tags: tags.listValue,
      capacity: capacity.numberValue,
      replicas: replicas.numberValue,
      maxReplicas: maxReplicas.numberValue,
      initScript,
      config,
      secretsFrom: secretsFrom.listValue,
      proxySecret,
      permissions: permissions.stringValue,
      clusterRole: clusterRole.stringValue,
      tokenExpiresIn: tokenExpiresIn.stringValue,
    });
    nameReleases(delegate.install, "delegate");
    stack.output("delegate_id", {
      value: delegate.delegate.id,
      description: "Id of the delegate, once it is ready.",
      dependsOn: delegate.install.ready,
    });
    stack.output("uid", { value: delegate.delegate.uid, description: "UID that the service gave the delegate." });
    stack.output("namespace", {
      value: delegate.install.release.namespace,
      description: "Namespace in which the delegate runs.",
    });
  },
};

export const definitions: ModuleDefinition[] = [agentModule, delegateModule, projectModule];

/** Variables of both kinds of worker, as properties. */
function commonVariables(stack: ModuleStack, kind: "agent" | "delegate", namespace: string) {
  const text = (name: string, description: string, value: string | null = "") =>
    stack.variable(name, { type: "string", default: value, description }).stringValue;
  const required = (name: string, description: string) =>
    stack.variable(name, { type: "string", description }).stringValue;
  const chart = (variable: string, folder: string, what: string) => {
    text(variable, `Path of the chart ${what}; default: the one beside this module.`, null);
    return `\${coalesce(var.${variable}, "\${path.module}/../../charts/${folder}")}`;
  };
  const texts = (name: string, description: string) =>
    stack.variable(name, { type: "list(string)", default: [], description }).listValue;
  return {
    id: required(
      "id",
      `Id of the ${kind} in the service: a label of at most 63 letters, digits and dashes. Immutable.`,
    ),
    endpoint: required("endpoint", "Address of the service, as the pods reach it."),
    org: text("org", "Organization of the scope; none means the account.", null),
    project: text("project", "Project of the scope; needs `org`.", null),
    displayName: text("name", "Name for people.", null),
    description: text("description", "What it is for.", null),
    namespace: text("namespace", `Namespace in which the ${kind} runs.`, namespace),
    createNamespace: stack.variable("create_namespace", {
      type: "bool",
      default: true,
      description: "Make the namespace, and remove it on destroy.",
    }).booleanValue,
    image: text("image", "Image reference; default: the chart's own."),
    imagePullSecrets: texts("image_pull_secrets", "Names of Secrets in the namespace with registry credentials."),
    httpsProxy: text("https_proxy", "Proxy on the way to the service and to Git."),
    noProxy: text("no_proxy", "Comma-separated addresses that need no proxy, added to the cluster's own."),
    caBundle: text("ca_bundle", "Certificate authority of the service, PEM."),
    values: texts(
      "values",
      "More Helm values, YAML texts; later ones win. Not for secrets: they are kept in the state.",
    ),
    tokenRevision: stack.variable("token_revision", {
      type: "number",
      default: 1,
      description: "Raise it to enrol with a new token.",
    }).numberValue,
    timeout: stack.variable("timeout", {
      type: "number",
      default: 300,
      description: `Seconds to wait until the ${kind} is ready.`,
    }).numberValue,
    chart: chart("chart", `outpost-${kind}`, `of the ${kind}`),
    namespaceChart: chart("namespace_chart", "outpost-namespace", "of the namespace"),
  };
}

function nameReleases(install: WorkerRelease, name: string): void {
  install.release.overrideLogicalId(name);
  (install.namespace as OutpostNamespace).release.overrideLogicalId("namespace");
}

function oneOf(variable: string, values: string[]) {
  const list = values.map((value) => JSON.stringify(value)).join(", ");
  return {
    condition: `\${contains([${list}], var.${variable})}`,
    errorMessage: `Must be one of ${values.join(", ")}.`,
  };
}
