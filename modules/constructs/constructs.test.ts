import { App, Fn, TerraformStack, TerraformVariable, Testing } from "cdktf";
import {
  l1,
  OutpostAgent,
  type OutpostAgentProps,
  OutpostApplication,
  OutpostCluster,
  OutpostDelegate,
  OutpostNamespace,
  OutpostPipeline,
  OutpostProvider,
  OutpostRepository,
} from "./index.ts";

type Json = any;
// Bundled charts become assets whose path has their content's hash: a change of a chart would change every snapshot.
const charts = { chart: "./charts/worker", namespaceChart: "./charts/namespace" };
const endpoint = "https://outpost.example.com";

/** What a stack with these constructs synthesises to. */
function synth(build: (stack: TerraformStack) => void): Json {
  const stack = new TerraformStack(new App({ stackTraces: false }), "stack");
  build(stack);
  const { "//": _, ...json } = JSON.parse(Testing.synth(stack));
  return json;
}
const agent = (props: Partial<OutpostAgentProps> = {}) =>
  synth((s) => new OutpostAgent(s, "agent", { agentId: "prod", endpoint, ...charts, ...props }));
const only = (types: Json): Json => {
  expect(Object.keys(types)).toHaveLength(1);
  return Object.values(types)[0];
};
const release = (json: Json, suffix = /^(agent|delegate)_install_release_/): Json =>
  Object.entries<Json>(json.resource.helm_release).find(([name]) => suffix.test(name))![1];

test("an agent is registered, enrolled with an ephemeral token, and installed into a namespace that goes with it", () => {
  expect(agent()).toMatchSnapshot();
});

test("a delegate likewise", () => {
  expect(
    synth(
      (s) =>
        new OutpostDelegate(s, "delegate", {
          delegateId: "builder",
          endpoint,
          tags: ["linux"],
          permissions: "cluster-viewer",
          ...charts,
        }),
    ),
  ).toMatchSnapshot();
});

test("a pipeline's own expressions reach it through Terraform, and values of other resources are put in", () => {
  const json = synth((s) => {
    const builders = new l1.Delegate(s, "builders", { id: "builders" });
    new OutpostPipeline(s, "release", {
      pipelineId: "release",
      inputs: { tag: { pattern: "v.*" } },
      steps: [
        {
          id: "build",
          task: {
            kind: "shell.run",
            selectors: [builders.id],
            params: {
              script: "curl -w '%{http_code}' ${HOME}",
              env: { TAG: "${inputs.tag}", WHERE: `on ${builders.id}` },
            },
          },
        },
        { id: "ok", condition: "${inputs.tag} != 'v0'", approval: { message: "Ship ${inputs.tag}?" } },
      ],
    });
  });
  const [delegate] = Object.keys(json.resource.outpost_delegate);
  const { steps } = only(json.resource.outpost_pipeline);
  expect(steps[0].task.selectors).toEqual([`\${outpost_delegate.${delegate}.id}`]);
  expect(JSON.parse(steps[0].task.params)).toEqual({
    script: "curl -w '%%{http_code}' $${HOME}",
    env: { TAG: "$${inputs.tag}", WHERE: `on \${outpost_delegate.${delegate}.id}` },
  });
  expect([steps[1].condition, steps[1].approval.message]).toEqual(["$${inputs.tag} != 'v0'", "Ship $${inputs.tag}?"]);
  const both = { id: "x", task: { kind: "shell.run", params: {} }, approval: {} };
  expect(() => synth((s) => new OutpostPipeline(s, "p", { pipelineId: "p", steps: [both] }))).toThrow(
    /exactly one of task and approval/,
  );
});

test("an application waits for its agent, repository and cluster, and goes before them", () => {
  const json = synth((s) => {
    const prod = new OutpostAgent(s, "agent", { agentId: "prod", endpoint, ...charts });
    const repository = new OutpostRepository(s, "code", {
      repositoryId: "code",
      agent: prod,
      url: "https://git.example.com/a.git",
      password: "p",
      credentialsVersion: "1",
    });
    const cluster = new OutpostCluster(s, "local", { clusterId: "local", agent: prod });
    new OutpostApplication(s, "shop", {
      applicationId: "shop",
      agent: prod,
      repository,
      cluster,
      namespace: "shop",
      path: "deploy",
    });
  });
  const installed = Object.keys(json.resource.helm_release).find((name) => name.startsWith("agent_install_release"))!;
  const [repository] = Object.keys(json.resource.outpost_repository);
  const [cluster] = Object.keys(json.resource.outpost_cluster);
  expect(only(json.resource.outpost_repository).depends_on).toEqual([`helm_release.${installed}`]);
  expect(only(json.resource.outpost_application).depends_on).toEqual([
    `helm_release.${installed}`,
    `outpost_repository.${repository}`,
    `outpost_cluster.${cluster}`,
  ]);
  expect(json.resource).toMatchSnapshot();
});

test("the token is nowhere but in the write-only argument", () => {
  const json = agent();
  const [token] = Object.keys(json.ephemeral.outpost_agent_token);
  const reference = `\${ephemeral.outpost_agent_token.${token}.token}`;
  expect(release(json).set_wo).toEqual([{ name: "token", type: "string", value: reference }]);
  expect(JSON.stringify(json).split(".token}").length).toBe(2);
});

test("no token is opened before the agent exists: its uid is unknown until then", () => {
  const json = agent();
  const [name] = Object.keys(json.resource.outpost_agent);
  expect(only(json.ephemeral.outpost_agent_token).uid).toBe(`\${outpost_agent.${name}.uid}`);
});

test.each<[string, Partial<OutpostAgentProps>, (json: Json) => unknown, unknown]>([
  ["no namespace", { createNamespace: false }, (j) => Object.keys(j.resource.helm_release).length, 1],
  ["without one nothing is waited for", { createNamespace: false }, (j) => release(j).depends_on, undefined],
  ["values of the user come last", { values: ["a: 1"] }, (j) => release(j).values[1], "a: 1"],
  [
    "namespaced",
    { access: "namespaced" },
    (j) => [only(j.resource.outpost_agent).mode, /"namespaced" = true/.test(release(j).values[0])],
    ["namespaced", true],
  ],
  [
    "scope",
    { org: "acme", project: "web" },
    (j) => [only(j.resource.outpost_agent), only(j.ephemeral.outpost_agent_token)].map((x) => [x.org, x.project]),
    [
      ["acme", "web"],
      ["acme", "web"],
    ],
  ],
  [
    "what is not given is not written: null would delete a chart's default",
    {},
    (j) => /proxy|pullSecrets|bundle|null/.test(release(j).values[0]),
    false,
  ],
  [
    "proxy",
    { httpsProxy: "http://p:1" },
    (j) => release(j).values[0].includes('"proxy" = {"httpsProxy" = "http://p:1"}'),
    true,
  ],
  [
    "shards, and the hosts that sets may ask",
    { shards: 2, shardBy: "cluster", scmProviders: ["api.github.com"] },
    (j) =>
      ['"controller" = {"shards" = 2, "shardBy" = "cluster"}', '"scmProviders" = ["api.github.com"]'].map((text) =>
        release(j).values[0].includes(text),
      ),
    [true, true],
  ],
  ["new token", { tokenRevision: 2 }, (j) => release(j).set_wo_revision, 2],
])("agent: %s", (_, props, look, want) => {
  expect(look(agent(props))).toEqual(want);
});

test("the kubernetes provider can make the namespace instead", () => {
  const json = agent({ namespaceProvider: "kubernetes" });
  const [name] = Object.keys(json.resource.kubernetes_namespace_v1);
  expect(only(json.resource.kubernetes_namespace_v1).metadata.labels["pod-security.kubernetes.io/enforce"]).toBe(
    "restricted",
  );
  expect(only(json.resource.helm_release).depends_on).toEqual([`kubernetes_namespace_v1.${name}`]);
});

test("a variable can decide whether the namespace is made", () => {
  const json = synth((s) => {
    const create = new TerraformVariable(s, "create", { type: "bool" });
    new OutpostNamespace(s, "ns", { name: "n", create: create.booleanValue, chart: "./c" });
  });
  expect(only(json.resource.helm_release).count).toBe("${var.create ? 1 : 0}");
});

test("names of releases fit Helm", () => {
  const name = (id: string) =>
    only(synth((s) => new OutpostNamespace(s, "ns", { name: id, chart: "./c" })).resource.helm_release).name;
  expect([name("short"), name(`${"n".repeat(34)}-${"n".repeat(20)}`)]).toEqual([
    "outpost-namespace-short",
    `outpost-namespace-${"n".repeat(34)}`,
  ]);
});

test("bundled charts are copied beside the stack, by a relative path", () => {
  const json = synth((s) => new OutpostAgent(s, "agent", { agentId: "prod", endpoint }));
  expect(release(json).chart).toMatch(/^\.\/assets\/agent_install_chart-outpost-agent_[0-9A-F]{8}\/[0-9A-F]{32}$/);
});

test("credentials without a version are refused: nobody could send new ones", () => {
  const build = () =>
    synth(
      (s) =>
        new OutpostRepository(s, "r", {
          repositoryId: "r",
          agent: OutpostAgent.fromAgentId("a"),
          url: "https://g",
          password: "p",
        }),
    );
  expect(build).toThrow("stack/r: credentials are write-only, so say credentialsVersion, whose change sends new ones");
});

test("bindings rename at every depth, and leave tokens and the user's own keys alone", () => {
  const json = synth((s) => {
    const names = new TerraformVariable(s, "names", { type: "list(string)" });
    new l1.Application(s, "a", {
      id: "a",
      agent: "x",
      destination: { namespace: "n" },
      labels: { myKey: "v" },
      source: {
        repoUrl: "https://g",
        helm: { valueFiles: names.listValue, parameters: [{ name: "a.bC", value: "1", forceString: true }] },
      },
      ignoreDifferences: [{ kind: "Deployment", jsonPointers: ["/spec"] }],
    });
  });
  expect(only(json.resource.outpost_application)).toMatchObject({
    labels: { myKey: "v" },
    source: {
      repo_url: "https://g",
      helm: { value_files: "${var.names}", parameters: [{ name: "a.bC", value: "1", force_string: true }] },
    },
    ignore_differences: [{ kind: "Deployment", json_pointers: ["/spec"] }],
  });
});

test("results can be referred to at every depth", () => {
  const json = synth((s) => {
    const app = new l1.DataApplication(s, "a", { id: "a" });
    const data = new l1.DataAgent(s, "d", { id: Fn.lower(app.status.sync.revision) });
    new l1.Agent(s, "b", {
      id: "b",
      name: app.status.resources.get(0).kind,
      description: data.status.sealKey.publicKey,
      labels: { health: new l1.DataApplications(s, "l", { org: "team", limit: 5 }).items.get(0).health },
    });
  });
  expect(only(json.data.outpost_applications)).toMatchObject({ org: "team", limit: 5 });
  expect(only(json.data.outpost_agent).id).toBe("${lower(data.outpost_application.a.status.sync.revision)}");
  expect(only(json.resource.outpost_agent)).toMatchObject({
    name: "${data.outpost_application.a.status.resources[0].kind}",
    description: "${data.outpost_agent.d.status.seal_key.public_key}",
    labels: { health: "${data.outpost_applications.l.items[0].health}" },
  });
});

test("a second configuration of the provider has an alias, and resources and tokens refer to it", () => {
  const json = synth((s) => {
    const provider = new OutpostProvider(s, "p", { endpoint, alias: "two" });
    new l1.Agent(s, "a", { id: "a", provider });
    new l1.EphemeralAgentToken(s, "t", { agent: "a", provider });
  });
  expect(json.provider.outpost).toEqual([{ alias: "two", endpoint }]);
  expect([only(json.resource.outpost_agent).provider, only(json.ephemeral.outpost_agent_token).provider]).toEqual([
    "outpost.two",
    "outpost.two",
  ]);
});

test("import has its code", () => {
  const json = synth((s) => {
    l1.Agent.generateConfigForImport(s, "prod", "acme/prod");
  });
  expect(json.import).toEqual([{ id: "acme/prod", to: "outpost_agent.prod" }]);
});

test("a delegate's options become values of its chart, and what was not said stays the chart's", () => {
  const values = (props: object): Json => {
    const json = synth((s) => new OutpostDelegate(s, "delegate", { delegateId: "b", endpoint, ...charts, ...props }));
    return release(json).values[0];
  };
  const all = values({
    replicas: 2,
    maxReplicas: 5,
    initScript: "true",
    config: "logLevel: debug",
    secretsFrom: ["db"],
    httpsProxy: "http://p:1",
    proxySecret: "p",
  });
  for (const text of [
    '"autoscaling" = {"enabled" = (5 >= 1), "minReplicas" = max(1, 2), "maxReplicas" = max(1, 5)}',
    '"initScript" = "true"',
    '"config" = yamldecode("logLevel: debug")',
    '"secretsFrom" = ["db"]',
    '"credentialsSecret" = {"name" = "p"}',
  ])
    expect(all.replaceAll('\\"', '"')).toContain(text);
  expect(values({})).not.toMatch(/autoscaling|initScript|config|secretsFrom|proxy/);
});
