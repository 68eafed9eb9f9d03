import { App, TerraformStack, Testing } from "cdktf";
import type { Construct } from "constructs";
import {
  l1,
  OutpostAgent,
  OutpostApplication,
  OutpostApplicationSet,
  type OutpostApplicationSetProps,
  OutpostAppProject,
  OutpostArgoProjectMapping,
  OutpostCertificate,
  OutpostCluster,
  OutpostEnvironment,
  OutpostGnupgKey,
  OutpostProvider,
  OutpostRepository,
  OutpostRepositoryCredential,
  OutpostService,
  OutpostWebhook,
} from "./index.ts";

type Json = any;

function synth(build: (stack: TerraformStack) => void): Json {
  const stack = new TerraformStack(new App({ stackTraces: false }), "stack");
  new OutpostProvider(stack, "outpost", {});
  build(stack);
  const { "//": _, terraform, provider, ...json } = JSON.parse(Testing.synth(stack));
  return json;
}
const agent = OutpostAgent.fromAgentId("prod");
const only = (types: Json): Json => {
  expect(Object.keys(types)).toHaveLength(1);
  return Object.values(types)[0];
};
const name = (types: Json): string => Object.keys(types)[0]!;
const template = { metadata: { name: "{{ .name }}" }, spec: { source: { path: "." } } };
const set = (scope: Construct, props: Partial<OutpostApplicationSetProps> = {}) =>
  new OutpostApplicationSet(scope, "set", {
    applicationSetId: "apps",
    agent,
    generators: [{ list: { elements: [{ name: "a" }] } }],
    template,
    ...props,
  });

test("a platform: a project with what it may read and be trusted by, and a set in it", () => {
  const json = synth((s) => {
    const appProject = new OutpostAppProject(s, "project", {
      appProjectId: "shop",
      agent,
      sourceRepos: ["https://git.example.com/shop/*"],
      destinations: [{ name: "in-cluster", namespace: "shop-*" }],
    });
    new OutpostRepositoryCredential(s, "credential", {
      credentialId: "git",
      agent,
      url: "https://git.example.com/shop/",
      appProject,
      githubApp: { id: 7 },
      githubAppPrivateKey: "key",
      credentialsVersion: "1",
    });
    new OutpostCertificate(s, "https", { certificateId: "authority", agent, host: "git.example.com", https: "pem" });
    new OutpostCertificate(s, "ssh", {
      certificateId: "host",
      agent,
      host: "[git.example.com]:2222",
      ssh: ["ssh-ed25519 AAAA", "ssh-rsa AAAA"],
    });
    new OutpostGnupgKey(s, "key", { gnupgKeyId: "release", agent, publicKey: "armour" });
    new OutpostCluster(s, "edge", { clusterId: "edge", agent, appProject, server: "https://edge.example.com" });
    set(s, { appProject });
  });
  expect(json).toMatchSnapshot();
});

test("a set's project is the name that the project has at the agent, and the set goes before it", () => {
  const json = synth((s) =>
    set(s, { appProject: new OutpostAppProject(s, "project", { appProjectId: "shop", agent }) }),
  );
  const project = name(json.resource.outpost_app_project);
  const { template: text, depends_on } = only(json.resource.outpost_application_set);
  expect(JSON.parse(text)).toEqual({
    ...template,
    spec: { project: `\${outpost_app_project.${project}.status.name}`, source: { path: "." } },
  });
  expect(depends_on).toEqual([`outpost_app_project.${project}`]);
});

test("what generators and template say with the signs of Terraform reaches the agent as it is", () => {
  const json = synth((s) => {
    const repository = new l1.Repository(s, "code", {
      id: "code",
      agent: "prod",
      url: "https://git.example.com/a.git",
    });
    set(s, {
      generators: [{ list: { elements: [{ name: "${HOME} %{x}" }] } }],
      template: { ...template, spec: { source: { repoURL: repository.url } } },
    });
  });
  const { generators, template: text } = only(json.resource.outpost_application_set);
  expect(JSON.parse(generators[0])).toEqual({ list: { elements: [{ name: "$${HOME} %%{x}" }] } });
  expect(JSON.parse(text).spec.source.repoURL).toMatch(/^\$\{outpost_repository\.code.*\.url\}$/);
});

test("a webhook's secret is opened when it is asked for, once, for this very webhook", () => {
  const quiet = synth((s) => new OutpostWebhook(s, "hook", { webhookId: "github", type: "github" }));
  expect(quiet.ephemeral).toBeUndefined();
  const json = synth((s) => {
    const hook = new OutpostWebhook(s, "hook", { webhookId: "github", type: "github", org: "team" });
    expect(hook.secret).toBe(hook.secret);
  });
  const hook = name(json.resource.outpost_webhook);
  expect(only(json.ephemeral.outpost_webhook_secret)).toMatchObject({
    webhook: `\${outpost_webhook.${hook}.id}`,
    uid: `\${outpost_webhook.${hook}.uid}`,
    org: "team",
  });
});

test("an application in a project waits for it and for those before it, and may look up", () => {
  const json = synth((s) => {
    const appProject = OutpostAppProject.fromAppProjectId("shop");
    const common = { agent, repository: OutpostRepository.fromRepositoryId("code"), namespace: "shop", appProject };
    const db = new OutpostApplication(s, "db", { applicationId: "db", ...common });
    new OutpostApplication(s, "web", { applicationId: "web", ...common, waitsFor: [db], helmLookup: "reader" });
  });
  const [db, web] = Object.entries<Json>(json.resource.outpost_application);
  expect(web![1]).toMatchObject({
    app_project: "shop",
    waits_for: [`\${outpost_application.${db![0]}.id}`],
    helm_lookup: { service_account: "reader" },
  });
});

test("an application names its service and its environment, which links an agent's cluster", () => {
  const json = synth((s) => {
    const cart = new OutpostService(s, "cart", { serviceId: "cart", type: "api" });
    const live = new OutpostEnvironment(s, "live", { environmentId: "live", type: "production", agents: [agent] });
    const code = OutpostRepository.fromRepositoryId("code");
    new OutpostApplication(s, "app", {
      applicationId: "cart-live",
      agent,
      repository: code,
      namespace: "cart",
      service: cart,
      environment: live,
    });
    new OutpostApplication(s, "other", {
      applicationId: "other",
      agent,
      repository: code,
      namespace: "other",
      service: OutpostService.fromServiceId("org.search"),
      environment: OutpostEnvironment.fromEnvironmentId("account.live"),
    });
  });
  expect(only(json.resource.outpost_environment)).toEqual({ id: "live", type: "production", agents: [agent.agentId] });
  expect(Object.values(json.resource.outpost_application)).toMatchObject([
    {
      service: `\${outpost_service.${name(json.resource.outpost_service)}.id}`,
      environment: `\${outpost_environment.${name(json.resource.outpost_environment)}.id}`,
    },
    { service: "org.search", environment: "account.live" },
  ]);
});

test("a mapping shows what an agent finds where its team looks, and goes before the agent", () => {
  const json = synth((s) => {
    const beside = new OutpostAgent(s, "agent", {
      agentId: "argo",
      engine: "argocd",
      endpoint: "https://outpost.example.com",
    });
    const team = new l1.Organization(s, "team", { id: "shop" });
    new OutpostArgoProjectMapping(s, "shop", {
      mappingId: "shop",
      agent: beside,
      argoProject: "shop-*",
      targetOrg: team.id,
    });
  });
  const agentName = name(json.resource.outpost_agent);
  expect(only(json.resource.outpost_argo_project_mapping)).toEqual({
    id: "shop",
    agent: `\${outpost_agent.${agentName}.id}`,
    argo_project: "shop-*",
    target_org: `\${outpost_organization.${name(json.resource.outpost_organization)}.id}`,
    depends_on: [
      `helm_release.${Object.keys(json.resource.helm_release).find((one) => one.startsWith("agent_install_release"))}`,
    ],
  });
});

const mapping = (props: object) =>
  synth((s) => new OutpostArgoProjectMapping(s, "m", { mappingId: "m", agent, argoProject: "shop", ...props }));

const repository = (props: object) =>
  synth(
    (s) =>
      new OutpostRepository(s, "code", { repositoryId: "code", agent, url: "https://git.example.com/a.git", ...props }),
  );

test("a repository's secrets are in `credentials` alone", () => {
  const { resource } = repository({
    username: "robot",
    bearerToken: "t",
    tlsClientCertData: "c",
    tlsClientCertKey: "k",
    credentialsVersion: "1",
  });
  const { credentials, ...rest } = only(resource.outpost_repository);
  expect(credentials).toEqual({ bearer_token: "t", tls_client_cert_data: "c", tls_client_cert_key: "k" });
  expect(rest).toMatchObject({ username: "robot", credentials_version: "1" });
  expect(Object.keys(rest)).not.toEqual(expect.arrayContaining(["bearer_token"]));
});

test.each<[string, () => unknown, RegExp]>([
  [
    "two ways to sign in",
    () => repository({ password: "p", bearerToken: "b", credentialsVersion: "1" }),
    /only one of password and bearerToken/,
  ],
  ["a key without its app", () => repository({ githubAppPrivateKey: "k", credentialsVersion: "1" }), /needs githubApp/],
  [
    "a secret without its service principal",
    () => repository({ azureServicePrincipalClientSecret: "s", credentialsVersion: "1" }),
    /needs azureServicePrincipal/,
  ],
  [
    "an identity in Azure and a password",
    () => repository({ useAzureWorkloadIdentity: true, password: "p", credentialsVersion: "1" }),
    /leave out the other way/,
  ],
  [
    "two ways into a cluster",
    () =>
      synth(
        (s) =>
          new OutpostCluster(s, "c", {
            clusterId: "c",
            agent,
            awsAuth: { clusterName: "c" },
            exec: { command: "aws" },
          }),
      ),
    /only one of awsAuth and exec/,
  ],
  ["half a certificate", () => repository({ tlsClientCertData: "c", credentialsVersion: "1" }), /go together/],
  ["credentials without a version", () => repository({ password: "p" }), /say credentialsVersion/],
  ["a mapping to nowhere", () => mapping({}), /give targetOrg/],
  [
    "a mapping out of the agent's organisation",
    () => mapping({ org: "team", targetOrg: "shop" }),
    /targetOrg must be team/,
  ],
  [
    "a certificate for nothing",
    () => synth((s) => new OutpostCertificate(s, "c", { certificateId: "c", agent, host: "h" })),
    /exactly one of https and ssh/,
  ],
])("%s is refused where it is written", (_what, build, want) => {
  expect(build).toThrow(want);
});
