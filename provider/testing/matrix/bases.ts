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
  /** Fields, with all below them, that no case can reach here, and why. */
  readonly fixed?: Readonly<Record<string, string>>;
}

const PEM = createCertificate().pem;
const DOTTED = { agent: "prod" };
const app: JsonObject = { ...DOTTED, source: { repoUrl: "https://git.example.com/a.git", path: "x" }, destination: { namespace: "web" } };
const from = (source: JsonObject): JsonObject => ({ ...app, source: { repoUrl: "https://git.example.com/a.git", ...source } });
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
const WINDOW = { kind: "deny", schedule: "0 16 * * 5", duration: "64h", applications: ["*"] };
const SIGN_IN = "it needs credentials, and so an agent that has enrolled";

export const BASES: Readonly<Record<string, Base>> = {
  Organization: { spec: {} },
  Project: { spec: {} },
  Agent: { spec: {} },
  Delegate: { spec: {} },
  Webhook: { spec: { provider: "github" } },
  GnupgKey: { spec: { ...DOTTED, publicKey: GNUPG_KEY }, samples: { publicKey: [GNUPG_KEY, `\n${GNUPG_KEY}\n`] } },
  RepositoryCertificate: {
    spec: { ...DOTTED, host: "git.example.com", type: "ssh", data: SSH_KEY },
    samples: { data: [SSH_KEY, `# a comment\n${SSH_KEY} robot\n`] },
    fixed: { type: "the data must be of the same type, so that it never changes alone" },
  },
  Cluster: { spec: { ...DOTTED, server: "https://one.example.com" }, samples: { appProject: ["shop", "other"], caData: [PEM] } },
  AppProject: {
    spec: DOTTED,
    instead: {
      "syncWindows.": { ...DOTTED, syncWindows: [WINDOW] },
      "destinations.": { ...DOTTED, destinations: [{ name: "in-cluster", server: "*", namespace: "a" }] },
    },
    samples: { "*.schedule": ["0 22 * * 1-5", "*/5 0-6 1,15 jan sun"], "*.timeZone": ["Europe/Berlin", "UTC"] },
    fixed: { within: "there is no scope above the account, and so no project that limits one there" },
  },
  Repository: {
    spec: repository,
    samples: { appProject: ["shop", "other"] },
    fixed: { githubApp: SIGN_IN, azureServicePrincipal: SIGN_IN },
  },
  RepositoryCredential: {
    spec: { ...DOTTED, url: "https://git.example.com/" },
    samples: { appProject: ["shop", "other"] },
    fixed: { githubApp: SIGN_IN, azureServicePrincipal: SIGN_IN },
  },
  Application: {
    spec: app,
    instead: { ...sourceBases("source", from), sources: several({ path: "x" }), ...sourceBases("sources", several) },
    samples: { appProject: ["shop", "other"], "*.repository": ["code", "more"], "destination.cluster": ["one", "two"] },
  },
  ApplicationSet: {
    spec: set,
    instead: {
      "strategy.rollingSync": {
        ...set,
        strategy: { type: "RollingSync", rollingSync: { steps: [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }] } },
      },
    },
    samples: {
      generators: [[{ clusters: {} }], [{ list: { elements: [{ n: 1e21, z: 0, f: false }] } }, { clusters: {} }]],
      template: [{ metadata: { name: "x" } }, { metadata: { name: "{{ .name }}" }, spec: { n: 0.1, l: [], o: {}, f: false, z: 0 } }],
      goTemplateOptions: [[], ["missingkey=error"]],
      "*.maxUpdate": ["25%", "1"],
    },
  },
  Pipeline: {
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
      "steps.task.kind": ["shell.run"],
      "steps.task.params": [{ script: "true" }, { script: "false", env: {} }],
      "steps.needs": [[]],
      "steps.condition": ["true"],
    },
    fixed: { "steps.task.kind": "each kind has parameters of its own", "steps.condition": "a condition names what is before it" },
  },
};
