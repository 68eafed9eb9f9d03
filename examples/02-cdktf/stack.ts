import { HelmProvider } from "@cdktf/provider-helm/lib/provider/index.js";
import { KubernetesProvider } from "@cdktf/provider-kubernetes/lib/provider/index.js";
import { LocalBackend, TerraformOutput, TerraformStack, TerraformVariable } from "cdktf";
import type { Construct } from "constructs";
import {
  l1,
  OutpostAgent,
  OutpostApplication,
  OutpostCluster,
  OutpostDelegate,
  OutpostProvider,
  OutpostRepository,
} from "../../modules/constructs/index.ts";

/** Agent, delegate, repository, cluster and application: the same as in 01-quickstart. */
export class QuickstartStack extends TerraformStack {
  constructor(scope: Construct, id: string) {
    super(scope, id);
    // The default would write the absolute path of the machine that synthesises.
    new LocalBackend(this, { path: "terraform.tfstate" });
    // The bindings pin the providers to the versions they were made from; newer ones do as well.
    this.addOverride("terraform.required_providers.helm", { source: "hashicorp/helm", version: ">= 3.1.1, < 4.0.0" });
    this.addOverride("terraform.required_providers.kubernetes", {
      source: "hashicorp/kubernetes",
      version: ">= 2.38.0, < 4.0.0",
    });
    this.addOverride("terraform.required_version", ">= 1.11");

    const text = (name: string, description: string, more: object = {}) =>
      new TerraformVariable(this, name, { type: "string", description, ...more });
    const kubeconfig = text("kubeconfig", "Kubeconfig of the cluster.", { default: "~/.kube/config" });
    const context = text("kube_context", "Context in it; none means its current one.", { default: "" });
    const endpoint = text("endpoint", "Address of the service, as the pods reach it.").stringValue;
    const image = text("image", "Image of the agent and the delegate; none means the charts' own.", {
      default: "",
    }).stringValue;
    const url = text("repository_url", "Git repository over HTTP(S) that has the folder `guestbook`.").stringValue;
    const username = text("repository_username", "User of the repository.", { default: "git" }).stringValue;
    const password = text("repository_password", "Reaches the agent sealed; neither plan nor state has it.", {
      sensitive: true,
    });
    // cdktf 0.21 does not know this argument.
    password.addOverride("ephemeral", true);

    new OutpostProvider(this, "outpost");
    const configPath = `\${pathexpand(${kubeconfig.fqn})}`;
    const configContext = `\${${context.fqn} == "" ? null : ${context.fqn}}`;
    new HelmProvider(this, "helm", { kubernetes: { configPath, configContext } });
    new KubernetesProvider(this, "kubernetes", { configPath, configContext });

    // The stack has the kubernetes provider, so let it make the namespaces.
    const install = { endpoint, image, namespaceProvider: "kubernetes" };
    const agent = new OutpostAgent(this, "agent", { agentId: "quickstart", displayName: "Quickstart", ...install });
    const repository = new OutpostRepository(this, "code", {
      repositoryId: "code",
      agent,
      url,
      username,
      password: password.stringValue,
      credentialsVersion: "1",
    });
    const cluster = new OutpostCluster(this, "local", { clusterId: "local", agent });
    const guestbook = new OutpostApplication(this, "guestbook", {
      applicationId: "guestbook",
      agent,
      repository,
      path: "guestbook",
      targetRevision: "main",
      cluster,
      namespace: "guestbook",
    });
    const delegate = new OutpostDelegate(this, "delegate", {
      delegateId: "quickstart",
      displayName: "Quickstart",
      ...install,
      tags: ["quickstart"],
    });

    new TerraformOutput(this, "agent-id", { value: agent.agentId }).overrideLogicalId("agent");
    new TerraformOutput(this, "delegate-id", { value: delegate.delegateId }).overrideLogicalId("delegate");
    // What an application is doing now is in its data source; it is read after the application is changed.
    const now = new l1.DataApplication(this, "now", { id: guestbook.application.id });
    const revision = new TerraformOutput(this, "revision", { value: now.status.sync.revision });
    revision.overrideLogicalId("application");
  }
}
