/** The module of a team's project: what it may do, how it signs in, and an application for each folder of its repository. */
import { conditional, Fn, type IResolvable, Op, type TerraformVariableConfig, Token } from "cdktf";
import { l1 } from "../constructs/index.ts";
import type { ModuleDefinition, ModuleStack } from "./module.ts";

const WINDOWS = `list(object({
    kind         = string
    schedule     = string
    duration     = string
    time_zone    = optional(string)
    applications = optional(list(string), ["*"])
    manual_sync  = optional(bool)
    description  = optional(string)
  }))`;

export const projectModule: ModuleDefinition = {
  name: "project",
  title: "Outpost project",
  about: `A team's project on an agent: a Git repository with a folder for each application, an AppProject that keeps them to that
repository and to namespaces of their own, and an application set that makes an application of each folder. The apply ends
when all of them are Synced and Healthy. A new folder in Git is a new application, without another apply.

Each application is named \`ID-FOLDER\` and goes into a namespace of that name. The namespace is made with it and stays when it
goes, unless a folder has the Namespace among its manifests. Credentials are write-only: they reach the agent sealed, and are
in neither plan nor state.`,
  example: `module "shop" {
  source         = "…/modules/hcl/project"
  id             = "shop"
  agent          = module.agent.agent_id
  repository_url = "https://git.example.com/shop/deploy.git"
  folders        = "apps/*"
}`,
  comments: {
    "outpost_repository_credential.project":
      "Without a version there are none: whether a password was given cannot decide, as it is ephemeral.",
  },
  build(stack) {
    const v = variables(stack);
    const appProject = new l1.AppProject(stack, "project", {
      id: v.id,
      org: v.org,
      project: v.project,
      agent: v.agent,
      description: v.description,
      sourceRepos: [v.repositoryUrl],
      destinations: [{ name: v.cluster, namespace: `${v.id}-*` }],
      within: v.within,
      clusterResourceWhitelist: Fn.concat([[{ kind: "Namespace", name: `${v.id}-*` }], v.clusterResources]),
      syncWindows: v.syncWindows as never,
    });
    appProject.overrideLogicalId("project");
    const credential = new l1.RepositoryCredential(stack, "credential", {
      count: Token.asNumber(conditional(Op.eq(v.credentialsVersion, Token.nullValue()), 0, 1)),
      id: v.id,
      org: v.org,
      project: v.project,
      agent: v.agent,
      url: v.repositoryUrl,
      username: v.username,
      appProject: appProject.id,
      credentials: { password: v.password, sshPrivateKey: v.sshPrivateKey },
      credentialsVersion: v.credentialsVersion,
    });
    credential.overrideLogicalId("project");
    const set = new l1.ApplicationSet(stack, "set", {
      id: v.id,
      org: v.org,
      project: v.project,
      agent: v.agent,
      generators: [
        Fn.jsonencode({ git: { repoURL: v.repositoryUrl, revision: v.revision, directories: [{ path: v.folders }] } }),
      ],
      goTemplateOptions: ["missingkey=error"],
      environment: v.environment,
      service: Token.asString(
        conditional(Op.eq(v.environment, Token.nullValue()), Token.nullValue(), "{{ .path.basenameNormalized }}"),
      ),
      template: Fn.jsonencode(template(v, appProject.status.name)),
      timeouts: { create: v.timeout, update: v.timeout },
      dependsOn: [credential],
    });
    set.overrideLogicalId("project");
    stack.output("app_project_id", {
      value: appProject.id,
      description: "Id of the AppProject, for `app_project` of other objects.",
    });
    // The data source holds what the set has made; it is read after the set is changed.
    const now = new l1.DataApplicationSet(stack, "now", { id: set.id, org: v.org, project: v.project });
    now.overrideLogicalId("project");
    stack.output("applications", {
      value: Token.asString(now.interpolationForAttribute("status.applications[*].name")),
      description: "Names of the applications that there were when this was applied last.",
    });
  },
};

function template(v: ReturnType<typeof variables>, appProject: string) {
  const name = `${v.id}-{{ .path.basenameNormalized }}`;
  return {
    metadata: { name },
    spec: {
      project: appProject,
      source: { repoURL: v.repositoryUrl, targetRevision: v.revision, path: "{{ .path.path }}" },
      destination: { name: v.cluster, namespace: name },
      syncPolicy: { automated: { prune: v.prune, selfHeal: v.selfHeal }, syncOptions: ["CreateNamespace=true"] },
    },
  };
}

function variables(stack: ModuleStack) {
  const text = (name: string, description: string, more: TerraformVariableConfig = {}) =>
    stack.variable(name, { type: "string", description, ...more }).stringValue;
  const maybe = (name: string, description: string, more: TerraformVariableConfig = {}) =>
    text(name, description, { default: null, ...more });
  const flag = (name: string, description: string): IResolvable =>
    stack.variable(name, { type: "bool", default: true, description }).booleanValue;
  const secret = (name: string, description: string) => {
    const variable = stack.variable(name, { type: "string", default: null, description, sensitive: true });
    // cdktf 0.21 does not know it.
    variable.addOverride("ephemeral", true);
    return variable.stringValue;
  };
  return {
    id: text("id", "Id of the project, and what its applications' names and namespaces begin with. Immutable."),
    agent: text("agent", "Id of the agent that keeps it equal to Git."),
    repositoryUrl: text("repository_url", "Address of the Git repository, without credentials."),
    folders: text("folders", "Glob of the folders that are an application each, such as `apps/*`.", { default: "*" }),
    revision: text("revision", "Branch or tag.", { default: "HEAD" }),
    cluster: text("cluster", "Name of the cluster; `in-cluster` is the agent's own.", { default: "in-cluster" }),
    org: maybe("org", "Organization of the scope; none means the account."),
    project: maybe("project", "Project of the scope; needs `org`."),
    description: maybe("description", "What the project is for."),
    environment: maybe(
      "environment",
      "Environment that the applications deploy into. Each application is then the service that its folder is named after.",
    ),
    within: maybe(
      "within",
      "In a scope below the agent's: the app project of a scope above that limits this one, such as `account.platform`. Needed if several may be used.",
    ),
    clusterResources: stack.variable("cluster_resources", {
      type: "list(object({ group = optional(string), kind = string, name = optional(string) }))",
      default: [],
      description: "Cluster-scoped kinds that it may have, beside its own namespaces.",
    }).listValue,
    syncWindows: stack.variable("sync_windows", {
      type: WINDOWS,
      default: [],
      description: "When it may sync, and when not.",
    }).value,
    prune: flag("prune", "Delete what Git no longer has."),
    selfHeal: flag("self_heal", "Undo changes made in the cluster."),
    username: maybe("username", "Name to sign in with."),
    password: secret("password", "Password or access token, for an HTTPS address; not stored."),
    sshPrivateKey: secret("ssh_private_key", "Private key, for an SSH address; not stored."),
    credentialsVersion: maybe(
      "credentials_version",
      "Any value, when there are credentials; change it to send new ones.",
    ),
    timeout: text("timeout", "How long to wait until the applications are Healthy.", { default: "10m" }),
  };
}
