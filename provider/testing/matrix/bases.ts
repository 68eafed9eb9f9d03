import { generateKeyPairSync } from "node:crypto";
import { createCertificate } from "../../protocol/certificate.ts";
import type { Json } from "../../value/json.ts";
import { GNUPG_KEY, SSH_KEY } from "../trust.ts";

type JsonObject = { readonly [name: string]: Json | undefined };

/** What the cases of a noun start from, and what its schema does not tell about the values of its fields. */
export interface Base {
  readonly spec: JsonObject;
  /** Other starting points, by the beginning of the path of a case, the longest one first: for fields that the usual one excludes. */
  readonly instead?: Readonly<Record<string, JsonObject>>;
  /** Values by path, or by the end of a path behind `*`. */
  readonly samples?: Readonly<Record<string, readonly Json[]>>;
  /** What a case needs beside its own field, by `path=value`. */
  readonly along?: Readonly<Record<string, JsonObject>>;
  /** Several objects may say the same, so that the cases can be tried on several at once. */
  readonly many?: true;
  /** Where the object is, when not at the account. */
  readonly org?: string;
  /** The only fields that are tried from here; the noun's other starting point has the rest. */
  readonly only?: readonly string[];
  /** The noun, when it is not the name of the starting point. */
  readonly noun?: string;
  /** Fields, with all below them, that no case can reach here, and why. */
  readonly fixed?: Readonly<Record<string, string>>;
}

const PEM = createCertificate().pem;
const PRIVATE_KEY = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({
  format: "pem",
  type: "pkcs1",
}) as string;
const DOTTED = { agent: "prod" };
const app: JsonObject = {
  ...DOTTED,
  source: { repoUrl: "https://git.example.com/a.git", path: "x" },
  destination: { namespace: "web" },
};
const from = (source: JsonObject): JsonObject => ({
  ...app,
  source: { repoUrl: "https://git.example.com/a.git", ...source },
});
const set: JsonObject = {
  ...DOTTED,
  generators: [{ list: { elements: [{ name: "a" }] } }],
  template: { metadata: { name: "{{ .name }}" }, spec: {} },
};
const repository: JsonObject = { ...DOTTED, url: "https://git.example.com/a.git" };
const step = { id: "a", task: { kind: "shell.run", params: { script: "true" } } };

const several = (source: JsonObject): JsonObject => ({
  ...DOTTED,
  destination: {},
  sources: [
    { repoUrl: "https://git.example.com/a.git", ...source },
    { repoUrl: "https://git.example.com/b.git", ref: "values" },
  ],
});
/** The starting points of what is the same in `source` and in each of `sources`. */
const sourceBases = (at: string, make: (source: JsonObject) => JsonObject): Record<string, JsonObject> => ({
  [`${at}.repository`]: make({ repoUrl: undefined, repository: "code", path: "x" }),
  [`${at}.chart`]: make({ chart: "b" }),
  [`${at}.plugin`]: make({ path: "x" }),
  [`${at}.plugin.parameters`]: make({ plugin: { parameters: [{ name: "p", string: "x" }] } }),
  [`${at}.plugin.parameters.array`]: make({ plugin: { parameters: [{ name: "p", array: ["x"] }] } }),
  [`${at}.plugin.parameters.map`]: make({ plugin: { parameters: [{ name: "p", map: { x: "y" } }] } }),
});
/** Line ends of both kinds, comments and signs beyond ASCII are kept as they are written. */
const YAML = ["a: 1\r\nb: 'ü'\r\n", "# a comment\nc: |\n  text\n\n", ""];
const PATCHES = ["- op: remove\n  path: /spec/replicas\n", "- { op: add, path: /metadata/labels/a, value: b }"];
const WINDOW = { kind: "deny", schedule: "0 16 * * 5", duration: "64h", applications: ["*"] };
const SIGN_IN: Readonly<Record<string, JsonObject>> = {
  githubApp: {
    ...DOTTED,
    url: "https://git.example.com/",
    githubApp: { id: 1 },
    credentials: { githubAppPrivateKey: PRIVATE_KEY },
    credentialsVersion: "1",
  },
  azureServicePrincipal: {
    ...DOTTED,
    url: "https://git.example.com/",
    azureServicePrincipal: { clientId: "a", tenantId: "b" },
    credentials: { azureServicePrincipalClientSecret: "s" },
    credentialsVersion: "1",
  },
};
const ADDRESSES = { "githubApp.enterpriseBaseUrl": ["https://github.example.com/api/v3", "https://other.example.com"] };

export const BASES: Readonly<Record<string, Base>> = {
  Organization: { spec: {} },
  Project: { spec: {} },
  Agent: { spec: {} },
  Delegate: { spec: {} },
  Service: { spec: {} },
  Environment: {
    spec: { type: "production" },
    samples: { agents: [["prod"], ["stage", "prod"]], clusters: [["one"], ["two", "one"]] },
  },
  Webhook: { spec: { provider: "github" } },
  ArgoProjectMapping: {
    spec: { ...DOTTED, argoProject: "shop-*", targetOrg: "team" },
    samples: { agent: ["prod", "stage"], argoProject: ["shop", "shop-*", "s?op.*"] },
    fixed: {
      targetOrg: "it must be there for an agent of the account, and name an organisation that exists",
      targetProject: "it must name a project that exists, and no neighbour is one",
    },
  },
  GnupgKey: { spec: { ...DOTTED, publicKey: GNUPG_KEY }, samples: { publicKey: [GNUPG_KEY, `\n${GNUPG_KEY}\n`] } },
  RepositoryCertificate: {
    spec: { ...DOTTED, host: "git.example.com", type: "ssh", data: SSH_KEY },
    samples: { data: [SSH_KEY, `# a comment\n${SSH_KEY} robot\n`], host: ["git.example.com", "other.example.com"] },
    along: { "type=https": { data: PEM } },
  },
  Cluster: {
    spec: { ...DOTTED, server: "https://one.example.com" },
    // The two exclude each other.
    instead: {
      exec: { ...DOTTED, server: "https://one.example.com" },
      awsAuth: { ...DOTTED, server: "https://one.example.com" },
    },
    samples: { appProject: ["shop", "other"], caData: [PEM] },
  },
  AppProject: {
    spec: DOTTED,
    instead: {
      "syncWindows.": { ...DOTTED, syncWindows: [WINDOW] },
      "destinations.": { ...DOTTED, destinations: [{ name: "in-cluster", server: "*", namespace: "a" }] },
    },
    samples: { "*.schedule": ["0 22 * * 1-5", "*/5 0-6 1,15 jan sun"], "*.timeZone": ["Europe/Berlin", "UTC"] },
    fixed: { within: "there is no scope above the account; the next starting point has it" },
  },
  "AppProject of an organization": {
    noun: "AppProject",
    org: "team",
    only: ["within"],
    spec: { agent: "account.prod", within: "account.shop" },
    samples: { within: ["account.shop", "account.other"] },
  },
  Repository: {
    spec: repository,
    instead: SIGN_IN,
    samples: { appProject: ["shop", "other"], ...ADDRESSES },
  },
  RepositoryCredential: {
    spec: { ...DOTTED, url: "https://git.example.com/" },
    instead: SIGN_IN,
    samples: { appProject: ["shop", "other"], ...ADDRESSES },
  },
  Application: {
    many: true,
    spec: app,
    instead: { ...sourceBases("source", from), sources: several({ path: "x" }), ...sourceBases("sources", several) },
    samples: {
      appProject: ["shop", "other"],
      service: ["cart", "search"],
      environment: ["dev", "live"],
      "*.repository": ["code", "more"],
      "destination.cluster": ["one", "two"],
      ...Object.fromEntries(
        ["source", "sources"].flatMap((at) => [
          [`${at}.helm.values`, YAML],
          [`${at}.kustomize.patches.patch`, PATCHES],
        ]),
      ),
    },
  },
  ApplicationSet: {
    many: true,
    spec: set,
    instead: {
      "strategy.rollingSync": {
        ...set,
        strategy: {
          type: "RollingSync",
          rollingSync: { steps: [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }] },
        },
      },
    },
    samples: {
      generators: [[{ clusters: {} }], [{ list: { elements: [{ n: 1e21, z: 0, f: false }] } }, { clusters: {} }]],
      service: ["cart", "account.cart", "{{ .name }}"],
      environment: ["dev", "{{ .metadata.labels.env }}"],
      templatePatch: ["metadata:\n  labels: { a: b }\n", "spec: {}\n"],
      template: [
        { metadata: { name: "x" } },
        { metadata: { name: "{{ .name }}" }, spec: { n: 0.1, l: [], o: {}, f: false, z: 0 } },
      ],
      goTemplateOptions: [[], ["missingkey=error"]],
      "*.maxUpdate": ["25%", "1"],
    },
  },
  Pipeline: {
    many: true,
    spec: { steps: [step, { ...step, id: "b" }] },
    instead: {
      "steps.approval": {
        steps: [
          { id: "a", approval: {} },
          { ...step, id: "b" },
        ],
      },
      "steps.needs": { steps: [step, { ...step, id: "b" }] },
    },
    samples: {
      steps: [[step], [step, { ...step, id: "b", needs: [] }], [step, { id: "b", approval: {} }]],
      "steps.task.kind": ["shell.run", "http.request"],
      "steps.task.params": [{ script: "true" }, { script: "false", env: {} }],
      "steps.needs": [[]],
      "steps.condition": ["'a' == 'a'", "'a' != 'b'"],
    },
    along: {
      "steps.task.kind=http.request": {
        steps: [
          { ...step, task: { kind: "http.request", params: { url: "https://example.com" } } },
          { ...step, id: "b" },
        ],
      },
    },
  },
};

/** A task that no delegate takes. */
export const TASK: Base = {
  spec: { kind: "shell.run", params: { script: "true" } },
  samples: {
    kind: ["shell.run", "http.request"],
    params: [
      { script: "false", env: {} },
      { script: "true", env: { A: "" } },
    ],
  },
  along: { "kind=http.request": { params: { url: "https://example.com" } } },
};

/** Attributes of resources that no value of the contract's specs stands for, and why no case has them. */
export const NOT_OF_A_SPEC: Readonly<Record<string, string>> = {
  id: "it says which object this is: another one replaces it (provider/replace.test.ts)",
  org: "it says which object this is: another one replaces it (provider/replace.test.ts)",
  project: "it says which object this is: another one replaces it (provider/replace.test.ts)",
  agent: "a change moves the object to another agent (provider/replace.test.ts)",
  credentials: "write-only: the service never shows them (provider/kept-credentials.test.ts)",
  adopt: "it steers the provider and is not part of the object (provider/service.test.ts)",
  cascade: "it steers the delete and is not part of the object (provider/outpost.test.ts)",
  wait: "it steers the provider and is not part of the object (provider/wait/wait.test.ts)",
  timeouts: "it steers the provider and is not part of the object (provider/outpost.test.ts)",
  triggers: "a value of the configuration alone, whose change runs the task again (provider/service-nouns.test.ts)",
  cancel_on_destroy: "it steers the delete and is not part of the task (provider/service-nouns.test.ts)",
};
