import type { Outcome } from "../../base/outcome.ts";
import type { Secret } from "../../base/secret.ts";
import type { KubeObject } from "../../kube/object.ts";
import { MANIFEST_INVALID } from "../../kube/yaml.ts";
import type { Source } from "../model/generated/types.ts";

export type {
  DirectoryParameters,
  HelmParameters,
  JsonnetParameters,
  JsonnetVariable,
  KustomizeParameters,
  PluginParameters,
  Source,
} from "../model/generated/types.ts";

/** What may be told about a source that cannot be used. Constants: a caller may branch on them. */
export const REPO = {
  urlRefused: "RepositoryUrlRefused",
  notFound: "RepositoryNotFound",
  unreachable: "RepositoryUnreachable",
  host: "HostNotFound",
  connection: "ConnectionRefused",
  notRepository: "NotARepository",
  authentication: "AuthenticationFailed",
  identity: "CloudIdentityMissing",
  token: "TokenRefused",
  hostKey: "HostKeyUnknown",
  certificate: "CertificateUntrusted",
  revision: "RevisionNotFound",
  path: "PathNotFound",
  escape: "PathEscapesRepository",
  tooLarge: "SourceTooLarge",
  manifest: MANIFEST_INVALID,
  chart: "ChartRenderFailed",
  chartNotFound: "ChartNotFound",
  kustomize: "KustomizeFailed",
  refused: "SourceRefused",
  unsupported: "SourceUnsupported",
  tool: "ToolMissing",
  server: "RepoServerUnavailable",
  sources: "SourcesInvalid",
  jsonnet: "JsonnetFailed",
  dependency: "DependencyRefused",
  plugin: "PluginFailed",
  pluginNotFound: "PluginNotFound",
  ambiguous: "RepositoryAmbiguous",
  notLent: "CredentialsNotLent",
} as const;

/** Why a commit is not used in a project that demands signed ones. */
export const SIGNATURE = {
  missing: "SignatureMissing",
  bad: "SignatureBad",
  unknownKey: "SignatureKeyUnknown",
  expiredKey: "SignatureKeyExpired",
  expired: "SignatureExpired",
  revokedKey: "SignatureKeyRevoked",
  notPermitted: "SignatureKeyNotPermitted",
  tooLong: "SignatureHistoryTooLong",
  policy: "SignaturePolicyInvalid",
} as const;

/** Public keys: id → armoured text, as in `argocd-gpg-keys-cm`. */
export type Keyring = Readonly<Record<string, string>>;

/** What a project demands of the commits of one repository. */
export interface Integrity {
  project: string;
  /** The commit that is used, or also all that came since `since`. */
  mode: "head" | "strict";
  /** Ids or fingerprints, at least 16 digits of each. */
  keys: string[];
  /** The commit that was synced last. */
  since?: string;
}

/** A repository and how to get into it; secrets stay wrapped until a child process needs them. */
export interface RepoAccess {
  url: string;
  /** By which a chart's `@name` dependencies mean it. */
  name?: string;
  type?: "git" | "helm" | "oci";
  username?: string;
  password?: Secret;
  sshPrivateKey?: Secret;
  knownHosts?: string;
  ca?: string;
  insecure?: boolean;
  insecureIgnoreHostKey?: boolean;
  proxy?: string;
  noProxy?: string;
  /** A registry that speaks plain HTTP. */
  forceHttp?: boolean;
  bearerToken?: Secret;
  /** The password goes with the first request: the server does not ask for it. */
  forceHttpBasicAuth?: boolean;
  tlsClientCertData?: string;
  tlsClientCertKey?: Secret;
  githubApp?: { id: string; installationId?: string; baseUrl?: string };
  githubAppPrivateKey?: Secret;
  /** The file of a service account of Google Cloud. */
  gcpServiceAccountKey?: Secret;
  /** The repo server's own identity in Azure. */
  azureWorkloadIdentity?: boolean;
  /** An application registered in Azure. */
  azurePrincipal?: { tenantId: string; clientId: string; authority?: string };
  azurePrincipalSecret?: Secret;
  /** Files that are pointers of Git LFS are fetched. */
  enableLfs?: boolean;
  submodules?: boolean;
  /** What is kept for other places, by the beginnings of their addresses: submodules may be there. */
  ways?: RepoAccess[];
  /** What the project permits: submodules elsewhere are shown no credentials. Undefined: no restriction. */
  sourceRepos?: readonly string[];
  /** Commits to fetch; nothing means one. */
  depth?: number;
  /** The only project whose applications may use it. */
  project?: string;
  /** The beginning of addresses that the credentials are for, where a template lent them. */
  lentBelow?: string;
  /** The credentials belong to a scope above the asker's: they are shown to their own host alone, whatever the asker says. */
  borrowed?: boolean;
  /** Stands for certificates and host keys that are not the agent's own: what is fetched by them is kept apart. */
  trust?: string;
  /** Why no connection is made: it is not clear which credentials count, or they may not be sent this way. */
  refused?: { reason: string; message: string };
  /** The keys that judge its commits, where signatures are checked. */
  keyring?: Keyring;
}

export type SourceType = "Helm" | "Kustomize" | "Directory" | "Plugin";

/**
 * How new the answer must be: `cached` takes the last known commit, `normal` asks the remote which commit it is now,
 * `hard` also renders again.
 */
export type Freshness = "cached" | "normal" | "hard";

/** One source, and how to get into its repository. */
export interface SourceAccess {
  source: Source;
  repo: RepoAccess;
  /** The commit that the source's revision was found to mean a moment ago: the remote is not asked again. */
  commit?: string;
  /** Absent where any commit will do. */
  integrity?: Integrity;
}

export interface RenderRequest {
  app: { name: string; namespace: string; project: string /** None for the agent's own scope. */; tenant?: string };
  /** Where the objects go; Helm templates see it. */
  namespace: string;
  /** One or many; later ones win where two give the same object. */
  sources: SourceAccess[];
  /** How many milliseconds ago the question arose: what Git was asked since then answers it too. Nothing means now. */
  sinceMs?: number;
  /** Chart repositories that a chart's dependencies may come from, with the way into each. */
  charts?: RepoAccess[];
  /**
   * What the application's project permits as sources, and each project that limits it: a chart's dependencies may come from there without being
   * registered, and then without credentials. Nothing means that they come from registered repositories alone.
   */
  dependencyRepos?: (readonly string[])[];
  freshness: Freshness;
  kubeVersion?: string;
  /** What the cluster can do, as `group/version` and `group/version/Kind`. */
  apiVersions?: string[];
  /** The files that the application says it reads (`argocd.argoproj.io/manifest-generate-paths`): only a plugin's are not known otherwise. */
  generatePaths?: string[];
  /** The content the caller already holds: with the same key the answer leaves the objects out. */
  known?: string;
}

export interface Rendered {
  /** The commit, or the chart version, of the first source. */
  revision: string;
  /** Of each source, in order. */
  revisions: string[];
  /** Digest of all that went in; the same key always means the same objects. */
  key: string;
  /** Of the first source that gives objects. */
  sourceType: SourceType;
  /** One for each source; empty for one that others only refer to. */
  sourceTypes: (SourceType | "")[];
  /** Shared with a cache: to be copied before a change. Absent when the caller's `known` is this key. */
  objects?: KubeObject[];
}

export interface Refs {
  /** Commit of HEAD. */
  head?: string;
  defaultBranch?: string;
  branches: Record<string, string>;
  /** Each tag's commit. */
  tags: Record<string, string>;
  /** The objects of tags that are more than a name: annotated ones, which may be signed. */
  annotated?: Record<string, string>;
}

export interface RevisionRequest {
  repo: RepoAccess;
  source: Source;
  /** Branch, tag, commit or version. */
  revision: string;
  /** Keys by which its signature is judged; without them nothing is said of one. */
  keyring?: Keyring;
}

export type SignatureState = "None" | "Good" | "Bad" | "UnknownKey" | "ExpiredKey" | "RevokedKey" | "ExpiredSignature";

/** Who made a revision, and why. Of a chart or an artifact as much as it says. */
export interface RevisionInfo {
  revision: string;
  author?: string;
  date?: string;
  message?: string;
  tags?: string[];
  signature?: SignatureState;
  /** The owner of the key, or the key's id where the key is not known. */
  signer?: string;
}

/** Charts of a Helm repository, or the one thing at an address of a registry; versions newest first. */
export interface ChartList {
  items: { name: string; versions: string[] }[];
}

/** The door of the repo server, the same in one process and over the network. */
export interface RepoApi {
  render(request: RenderRequest): Promise<Outcome<Rendered>>;
  refs(repo: RepoAccess): Promise<Outcome<Refs>>;
  look(request: LookRequest): Promise<Outcome<Looked>>;
  survey(request: SurveyRequest): Promise<Outcome<Surveyed>>;
  revision(request: RevisionRequest): Promise<Outcome<RevisionInfo>>;
  charts(repo: RepoAccess): Promise<Outcome<ChartList>>;
  /** Whether a repository is there and lets us in; which layer fails is told by its reason. */
  probe(repo: RepoAccess): Promise<Outcome<true>>;
}

/** What is in a repository, for generators that make applications from its folders or files. */
export interface LookRequest {
  repo: RepoAccess;
  revision?: string;
  freshness: Freshness;
  /** Absent where any commit will do. */
  integrity?: Integrity;
  /** Names of folders, hidden ones left out; or files that fit patterns as `git ls-files` reads them, with their texts. */
  want: { directories: true } | { include: string[]; exclude: string[] };
}

export interface Looked {
  revision: string;
  directories?: string[];
  files?: Record<string, string>;
}

/** One repository, and the applications that read it. */
export interface SurveyRequest {
  /** The one that is asked now; what else an application reads stands as it was last seen. */
  repo: RepoAccess;
  asks: RenderRequest[];
}

/** In the order of the questions. */
export interface Surveyed {
  answers: SurveyAnswer[];
}

/** What an application would be made of now; none: to be looked at by itself, which will say why. */
export type SurveyAnswer = Pick<Rendered, "key" | "revisions"> | null;
