import { createCertificate } from "../../protocol/certificate.ts";
import type { Json } from "../../value/json.ts";
import { GNUPG_KEY, SSH_KEY } from "../trust.ts";

type JsonObject = { readonly [name: string]: Json };

/** What the cases of a noun start from, and what its schema does not tell about the values of its fields. */
export interface Base {
  readonly spec: JsonObject;
  /** Other starting points, by the beginning of the path of a case: for fields that exclude what the usual one has. */
  readonly instead?: Readonly<Record<string, JsonObject>>;
  /** Texts by path, or by the end of a path behind `*`. An empty list: this field has no further value. */
  readonly samples?: Readonly<Record<string, readonly Json[]>>;
  /** Fields without any value but that of the base, and why. */
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
  },
  Cluster: { spec: { ...DOTTED, server: "https://one.example.com" }, samples: { appProject: ["shop", "other"], caData: [PEM] } },
  AppProject: { spec: DOTTED },
  Repository: { spec: repository, samples: { appProject: ["shop", "other"] } },
  RepositoryCredential: { spec: { ...DOTTED, url: "https://git.example.com/" }, samples: { appProject: ["shop", "other"] } },
  Application: {
    spec: app,
    instead: { "source.chart": from({ chart: "a" }), "source.plugin": from({ path: "x" }) },
    samples: { appProject: ["shop", "other"], "*.repository": ["code"], "destination.cluster": ["one", "two"] },
  },
  ApplicationSet: { spec: set },
  Pipeline: { spec: { steps: [step, { ...step, id: "b" }] } },
};
