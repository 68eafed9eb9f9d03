import { generateKeyPairSync } from "node:crypto";
import { ADA, BOB, CERTIFICATE, EVE, SSH_KEY } from "../../base/testing.ts";
import { nouns } from "./nouns.ts";
import type { Problem } from "./problem.ts";
import { checkRules, checkSchema, type Spec, withDefaults } from "./rules/spec.ts";

type Noun =
  | "clusters"
  | "applicationsets"
  | "appprojects"
  | "repositories"
  | "repositorycredentials"
  | "repositorycertificates"
  | "gnupgkeys"
  | "applications";

/** Where a spec is refused and why; nothing when it is taken. */
function faultOf(collection: Noun, spec: Spec, before?: Spec): string | undefined {
  try {
    const whole = withDefaults(nouns[collection], { agent: "a", ...spec });
    checkSchema(nouns[collection], whole);
    checkRules(nouns[collection], whole, before);
    return undefined;
  } catch (problem) {
    const { code, message, details } = problem as Problem;
    expect(["invalid_field", "invalid_request"]).toContain(code);
    return `${details.pointer} ${message}`;
  }
}
const table = (collection: Noun, base: Spec, cases: [name: string, change: Spec, want: RegExp | undefined][]) =>
  test.each(cases)("%s", (_, change, want) => {
    const got = faultOf(collection, { ...base, ...change });
    if (want) expect(got).toMatch(want);
    else expect(got).toBeUndefined();
  });

describe("application sets", () => {
  const list = { list: { elements: [{ name: "a" }] } };
  const git = { git: { repoURL: "https://h/x", directories: [{ path: "apps/*" }] } };
  const template = {
    metadata: { name: "{{ .name }}" },
    spec: { project: "default", source: {}, destination: { name: "in-cluster" } },
  };
  const with_ = (...generators: unknown[]): Spec => ({ generators });
  table("applicationsets", { generators: [list], template }, [
    ["a list", {}, undefined],
    [
      "every generator",
      with_(
        list,
        { clusters: {} },
        git,
        { plugin: { configMapRef: { name: "p" } } },
        { scmProvider: { github: {} } },
        { pullRequest: { gitea: {} } },
        { clusterDecisionResource: { configMapRef: "c" } },
      ),
      undefined,
    ],
    [
      "a matrix in a matrix",
      with_({ matrix: { generators: [{ matrix: { generators: [list, git] } }, list] } }),
      undefined,
    ],
    ["a merge", with_({ merge: { mergeKeys: ["name"], generators: [list, list, git] } }), undefined],
    ["an unknown generator", with_(list, { lists: {} }), /^\/spec\/generators\/1\/lists There is no generator/],
    ["two in one entry", with_({ ...list, ...git }), /^\/spec\/generators\/0\/git `list` is given already/],
    ["none in an entry", with_({ selector: {} }), /^\/spec\/generators\/0 Give one generator/],
    ["a selector that is none", with_({ ...list, selector: "a" }), /^\/spec\/generators\/0\/selector /],
    ["settings that are none", with_({ clusters: [] }), /^\/spec\/generators\/0\/clusters /],
    ["a list without elements", with_({ list: {} }), /^\/spec\/generators\/0\/list\/elements /],
    [
      "an element that is a text",
      with_({ list: { elements: [{}, "a"] } }),
      /^\/spec\/generators\/0\/list\/elements\/1 /,
    ],
    ["Git without an address", with_({ git: { files: [{ path: "a" }] } }), /^\/spec\/generators\/0\/git\/repoURL /],
    ["Git without paths", with_({ git: { repoURL: "https://h/x" } }), /^\/spec\/generators\/0\/git\/directories /],
    [
      "a path that is none",
      with_({ git: { repoURL: "https://h/x", files: [{ exclude: true }] } }),
      /^\/spec\/generators\/0\/git\/files\/0\/path /,
    ],
    [
      "values that are no texts",
      with_({ clusters: { values: { a: 1 } } }),
      /^\/spec\/generators\/0\/clusters\/values /,
    ],
    [
      "a matrix of three",
      with_({ matrix: { generators: [list, list, list] } }),
      /^\/spec\/generators\/0\/matrix\/generators .*exactly two/,
    ],
    [
      "a matrix too deep",
      with_({
        matrix: { generators: [{ matrix: { generators: [{ matrix: { generators: [list, git] } }, list] } }, list] },
      }),
      /^\/spec\/generators\/0\/matrix\/generators\/0\/matrix\/generators\/0\/matrix /,
    ],
    [
      "a fault in a child",
      with_({ matrix: { generators: [list, { gitt: {} }] } }),
      /^\/spec\/generators\/0\/matrix\/generators\/1\/gitt /,
    ],
    [
      "a merge without keys",
      with_({ merge: { generators: [list, list] } }),
      /^\/spec\/generators\/0\/merge\/mergeKeys /,
    ],
    [
      "two hosts",
      with_({ scmProvider: { github: {}, gitlab: {} } }),
      /^\/spec\/generators\/0\/scmProvider\/gitlab Give only one/,
    ],
    ["no host", with_({ pullRequest: {} }), /^\/spec\/generators\/0\/pullRequest Give one/],
    ["a plugin without a ConfigMap", with_({ plugin: {} }), /^\/spec\/generators\/0\/plugin\/configMapRef\/name /],
    ["applications without a name", { template: { metadata: {}, spec: {} } }, /^\/spec\/template\/metadata\/name /],
    [
      "a name from a generator's template",
      { generators: [{ list: { ...list.list, template } }], template: { spec: {} } },
      undefined,
    ],
    ["a template with something else", { template: { ...template, status: {} } }, /^\/spec\/template\/status /],
    [
      "two kinds of sources",
      { template: { ...template, spec: { source: {}, sources: [] } } },
      /^\/spec\/template\/spec\/sources /,
    ],
    [
      "two names of a cluster",
      { template: { ...template, spec: { destination: { name: "a", server: "b" } } } },
      /^\/spec\/template\/spec\/destination\/name /,
    ],
    [
      "a mark of the service",
      {
        template: {
          ...template,
          metadata: { name: "a", annotations: { "outpost.dev/depends-on": "b", "outpost.dev/uid": "c" } },
        },
      },
      /^\/spec\/template\/metadata\/annotations\/outpost.dev~1uid /,
    ],
    ["a patch without Go templates", { goTemplate: false, templatePatch: "{}" }, /^\/spec\/templatePatch /],
    ["a roll-out without steps", { strategy: { type: "RollingSync" } }, /^\/spec\/strategy\/rollingSync /],
    [
      "a step that names nothing",
      {
        strategy: {
          type: "RollingSync",
          rollingSync: { steps: [{ matchExpressions: [{ key: "a", operator: "In" }] }] },
        },
      },
      /\/matchExpressions\/0\/values /,
    ],
    ["steps without a roll-out", { strategy: { rollingSync: {} } }, /^\/spec\/strategy\/type /],
    [
      "options of Go templates without one",
      { goTemplate: false, goTemplateOptions: [] },
      /^\/spec\/goTemplateOptions /,
    ],
  ]);
});

describe("projects", () => {
  const window = {
    kind: "allow",
    schedule: "0 22 * * 1-5",
    duration: "1h",
    applications: ["*"],
    timeZone: "Europe/Berlin",
  };
  const windows = (change: Spec): Spec => ({ syncWindows: [{ ...window, ...change }] });
  table("appprojects", {}, [
    ["an empty one", {}, undefined],
    [
      "a whole one",
      {
        ...windows({}),
        destinations: [{ server: "*", namespace: "a" }],
        roles: [{ name: "r", policies: ["p, proj:a:r, applications, sync, a/*, allow"] }],
        destinationServiceAccounts: [{ server: "*", defaultServiceAccount: "ns:sa" }],
      },
      undefined,
    ],
    ["a destination without a cluster", { destinations: [{ namespace: "a" }] }, /^\/spec\/destinations\/0\/server /],
    [
      "a destination that denies all",
      { destinations: [{ server: "*", namespace: "!*" }] },
      /^\/spec\/destinations\/0\/namespace /,
    ],
    ["six fields of cron", windows({ schedule: "0 0 22 * * 1" }), /^\/spec\/syncWindows\/0\/schedule .*found 6/],
    ["an hour that is none", windows({ schedule: "0 25 * * *" }), /^\/spec\/syncWindows\/0\/schedule /],
    ["a window of no length", windows({ duration: "0s" }), /^\/spec\/syncWindows\/0\/duration /],
    ["a zone that is none", windows({ timeZone: "Europe/Atlantis" }), /^\/spec\/syncWindows\/0\/timeZone /],
    ["a window for nothing", windows({ applications: [] }), /^\/spec\/syncWindows\/0\/applications /],
    [
      "an account that is a pattern",
      { destinationServiceAccounts: [{ server: "*", defaultServiceAccount: "*" }] },
      /\/0\/defaultServiceAccount /,
    ],
    [
      "an account for what does not match",
      { destinationServiceAccounts: [{ server: "!a", defaultServiceAccount: "a" }] },
      /\/0\/server /,
    ],
    ["two roles of one name", { roles: [{ name: "a" }, { name: "a" }] }, /^\/spec\/roles\/1\/name /],
    ["a policy that is none", { roles: [{ name: "a", policies: ["allow all"] }] }, /^\/spec\/roles\/0\/policies\/0 /],
  ]);
});

const pem = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({
  type: "pkcs1",
  format: "pem",
}) as string;
const githubApp = { id: 1 };
const azureServicePrincipal = { clientId: "c", tenantId: "t" };
const serviceAccount = JSON.stringify({ type: "service_account", client_email: "a@b", private_key: pem });
describe.each(["repositories", "repositorycredentials"] as const)("%s", (collection) => {
  const base = { url: "https://git.example/team/" };
  table(collection, base, [
    ["a password", { username: "u", credentials: { password: "p" } }, undefined],
    ["a GitHub App", { githubApp, credentials: { githubAppPrivateKey: pem } }, undefined],
    [
      "a GitHub App whose key the client sealed",
      { githubApp, sealedCredentials: { keyId: "k", enc: "e", ciphertext: "c" } },
      undefined,
    ],
    ["a GitHub App without its key", { githubApp }, /^\/spec\/credentials\/githubAppPrivateKey .*private key/],
    [
      "a GitHub App with another credential",
      { githubApp, credentials: { password: "p" } },
      /^\/spec\/credentials\/githubAppPrivateKey /,
    ],
    [
      "a GitHub App's key that is none",
      { githubApp, credentials: { githubAppPrivateKey: "canary" } },
      /^\/spec\/credentials\/githubAppPrivateKey (?!.*canary)/,
    ],
    ["a GitHub App's key without the App", { credentials: { githubAppPrivateKey: pem } }, /^\/spec\/githubApp /],
    [
      "a GitHub App by SSH",
      { url: "git@git.example:x", githubApp, credentials: { githubAppPrivateKey: pem } },
      /^\/spec\/githubApp /,
    ],
    [
      "a GitHub App and a user",
      { username: "u", githubApp, credentials: { githubAppPrivateKey: pem } },
      /^\/spec\/username /,
    ],
    [
      "two credentials",
      { credentials: { password: "p", bearerToken: "t" } },
      /^\/spec\/credentials\/bearerToken `password` is given already/,
    ],
    ["a service account of Google", { credentials: { gcpServiceAccountKey: serviceAccount } }, undefined],
    [
      "a service account's file that is none",
      { credentials: { gcpServiceAccountKey: '{"canary":1}' } },
      /^\/spec\/credentials\/gcpServiceAccountKey (?!.*canary)/,
    ],
    [
      "a service account by SSH",
      { url: "git@git.example:x", credentials: { gcpServiceAccountKey: serviceAccount } },
      /^\/spec\/credentials\/gcpServiceAccountKey /,
    ],
    [
      "a service principal",
      { azureServicePrincipal, credentials: { azureServicePrincipalClientSecret: "s" } },
      undefined,
    ],
    [
      "a service principal without its secret",
      { azureServicePrincipal, credentials: {} },
      /^\/spec\/credentials\/azureServicePrincipalClientSecret /,
    ],
    [
      "a secret without its principal",
      { credentials: { azureServicePrincipalClientSecret: "s" } },
      /^\/spec\/azureServicePrincipal /,
    ],
    ["an identity in Azure", { useAzureWorkloadIdentity: true }, undefined],
    [
      "an identity in Azure by SSH",
      { url: "git@git.example:x", useAzureWorkloadIdentity: true },
      /^\/spec\/useAzureWorkloadIdentity /,
    ],
    ["an identity in Azure and a user", { username: "u", useAzureWorkloadIdentity: true }, /^\/spec\/username /],
    [
      "an identity in Azure and a password",
      { useAzureWorkloadIdentity: true, credentials: { password: "p" } },
      /^\/spec\/credentials\/password /,
    ],
    [
      "two identities",
      { useAzureWorkloadIdentity: true, azureServicePrincipal },
      /^\/spec\/useAzureWorkloadIdentity `azureServicePrincipal`/,
    ],
    [
      "half a client certificate",
      { credentials: { tlsClientCertData: "c" } },
      /^\/spec\/credentials\/tlsClientCertKey /,
    ],
    ["plain HTTP for Git", { insecureOciForceHttp: true }, /^\/spec\/insecureOciForceHttp /],
    [
      "plain HTTP for a registry",
      { url: "oci://r.example/charts", type: "oci", insecureOciForceHttp: true },
      undefined,
    ],
    [
      "basic authentication by SSH",
      { url: "git@git.example:x", forceHttpBasicAuth: true },
      /^\/spec\/forceHttpBasicAuth /,
    ],
  ]);
  test("a GitHub App that is there keeps its key, a new one has none yet", () => {
    expect(faultOf(collection, { ...base, githubApp: { id: 2 } }, { githubApp })).toBeUndefined();
    expect(faultOf(collection, { ...base, githubApp }, { username: "u" })).toMatch(
      /^\/spec\/credentials\/githubAppPrivateKey /,
    );
  });
});

describe("clusters", () => {
  const [awsAuth, exec] = [{ clusterName: "prod" }, { command: "aws" }];
  table("clusters", { agent: "a", server: "https://k8s.example" }, [
    ["a token", { credentials: { bearerToken: "t" } }, undefined],
    ["a cluster of EKS", { awsAuth }, undefined],
    ["a program", { exec, credentials: {} }, undefined],
    ["a program and EKS", { exec, awsAuth }, /^\/spec\/exec `awsAuth` signs in already/],
    [
      "EKS and a token",
      { awsAuth, credentials: { bearerToken: "canary" } },
      /^\/spec\/credentials\/bearerToken (?!.*canary)/,
    ],
    [
      "the agent's own cluster, limited to namespaces",
      { server: "https://kubernetes.default.svc/", namespaces: ["web"] },
      undefined,
    ],
    [
      "the agent's own cluster with a proxy",
      { server: "https://kubernetes.default.svc/", proxyUrl: "http://p" },
      /^\/spec\/proxyUrl /,
    ],
    [
      "the same in another spelling",
      { server: "https://KUBERNETES.default:443", insecure: true },
      /^\/spec\/insecure /,
    ],
    [
      "the same with a name",
      { server: "https://kubernetes.default.svc.cluster.local", serverName: "x" },
      /^\/spec\/serverName /,
    ],
    ["the same with an authority", { server: "https://kubernetes", caData: "x" }, /^\/spec\/caData /],
    ["the same with EKS", { server: "https://kubernetes.default.svc.", awsAuth }, /^\/spec\/awsAuth /],
    ["the same with a program", { server: "https://kubernetes.default.svc", exec }, /^\/spec\/exec /],
    [
      "the same with a token",
      { server: "https://kubernetes.default.svc", credentials: { bearerToken: "canary" } },
      /^\/spec\/credentials\/bearerToken (?!.*canary)/,
    ],
    [
      "a program and a certificate",
      { exec, credentials: { clientKeyData: "k" } },
      /^\/spec\/credentials\/clientKeyData `exec`/,
    ],
  ]);
});

describe("repositories alone", () => {
  table("repositories", { url: "oci://r.example/charts", type: "oci" }, [
    ["LFS of a registry", { enableLfs: true }, /^\/spec\/enableLfs /],
    ["submodules of a registry", { submodules: true }, /^\/spec\/submodules /],
    ["what is off is nothing", { enableLfs: false, depth: 0 }, undefined],
  ]);
});

describe("certificates", () => {
  table("repositorycertificates", { host: "git.example.com", type: "https", data: CERTIFICATE }, [
    ["a certificate", {}, undefined],
    ["a key of SSH", { type: "ssh", data: SSH_KEY }, undefined],
    ["a key of SSH on another port", { type: "ssh", host: "[git.example.com]:2222", data: SSH_KEY }, undefined],
    ["a certificate for a port", { host: "[git.example.com]:443" }, /^\/spec\/host /],
    ["a certificate that is none", { data: "hello" }, /^\/spec\/data /],
    ["a private key", { data: pem }, /^\/spec\/data .*private key/],
    [
      "a key with its host",
      { type: "ssh", data: `git.example.com ${SSH_KEY}` },
      /^\/spec\/data Line 1 begins with a host/,
    ],
  ]);
});

describe("keys", () => {
  table("gnupgkeys", {}, [
    ["a key", { publicKey: ADA }, undefined],
    ["a key that was revoked, so that its commits are told apart", { publicKey: EVE }, undefined],
    ["two keys", { publicKey: ADA + BOB }, /^\/spec\/publicKey /],
    ["a key that was changed", { publicKey: ADA.replace("mDMEaw", "mDMEax") }, /^\/spec\/publicKey .*checksum/],
    ["no key", { publicKey: "x".repeat(80) }, /^\/spec\/publicKey /],
  ]);
});

describe("applications", () => {
  const source = { repoUrl: "https://h/x", path: "." };
  table("applications", { destination: {}, source }, [
    ["a project of the service", { appProject: "team" }, undefined],
    ["a project of the namespace", { argoProject: "team" }, undefined],
    ["both", { appProject: "team", argoProject: "team" }, /^\/spec\/argoProject /],
    [
      "two kinds of a source",
      { source: { repoUrl: "https://a.b/c", helm: {}, directory: {} } },
      /^\/spec\/source\/helm /,
    ],
    [
      "a plugin's parameter without a value",
      { source: { repoUrl: "https://a.b/c", plugin: { parameters: [{ name: "a" }] } } },
      /^\/spec\/source\/plugin\/parameters\/0 /,
    ],
    ["a plugin", { source: { ...source, plugin: { name: "p" } } }, undefined],
    ["a plugin and Helm", { source: { ...source, plugin: { name: "p" }, helm: {} } }, /^\/spec\/source\/helm /],
  ]);
});
