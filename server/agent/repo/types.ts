import type { Outcome } from "../../base/outcome.ts";
import type { Secret } from "../../base/secret.ts";
import type { KubeObject } from "../kube/object.ts";

/** What may be told about a source that cannot be used. Constants: a caller may branch on them. */
export const REPO = {
  urlRefused: "RepositoryUrlRefused",
  notFound: "RepositoryNotFound",
  unreachable: "RepositoryUnreachable",
  authentication: "AuthenticationFailed",
  hostKey: "HostKeyUnknown",
  certificate: "CertificateUntrusted",
  revision: "RevisionNotFound",
  path: "PathNotFound",
  escape: "PathEscapesRepository",
  tooLarge: "SourceTooLarge",
  manifest: "ManifestInvalid",
  chart: "ChartRenderFailed",
  chartNotFound: "ChartNotFound",
  kustomize: "KustomizeFailed",
  refused: "SourceRefused",
  unsupported: "SourceUnsupported",
  tool: "ToolMissing",
  server: "RepoServerUnavailable",
} as const;

/** A repository and how to get into it; secrets stay wrapped until a child process needs them. */
export interface RepoAccess {
  url: string;
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
}

export interface HelmParameters {
  valueFiles?: string[];
  values?: string;
  valuesObject?: Record<string, unknown>;
  parameters?: { name: string; value?: string; forceString?: boolean }[];
  fileParameters?: { name: string; path: string }[];
  releaseName?: string;
  namespace?: string;
  skipCrds?: boolean;
  skipTests?: boolean;
  skipSchemaValidation?: boolean;
  ignoreMissingValueFiles?: boolean;
  kubeVersion?: string;
  apiVersions?: string[];
}

export interface KustomizeParameters {
  namePrefix?: string;
  nameSuffix?: string;
  namespace?: string;
  images?: string[];
  replicas?: { name: string; count: number | string }[];
  commonLabels?: Record<string, string>;
  forceCommonLabels?: boolean;
  labelWithoutSelector?: boolean;
  labelIncludeTemplates?: boolean;
  commonAnnotations?: Record<string, string>;
  forceCommonAnnotations?: boolean;
  patches?: Record<string, unknown>[];
  components?: string[];
  ignoreMissingComponents?: boolean;
}

export interface DirectoryParameters {
  recurse?: boolean;
  include?: string;
  exclude?: string;
  jsonnet?: unknown;
}

/** `spec.source` of an Application, as far as this program reads it. */
export interface Source {
  repoURL: string;
  path?: string;
  targetRevision?: string;
  chart?: string;
  ref?: string;
  helm?: HelmParameters;
  kustomize?: KustomizeParameters;
  directory?: DirectoryParameters;
  plugin?: unknown;
}

export type SourceType = "Helm" | "Kustomize" | "Directory";

/**
 * How new the answer must be: `cached` takes the last known commit, `normal` asks the remote which commit it is now,
 * `hard` also renders again.
 */
export type Freshness = "cached" | "normal" | "hard";

export interface RenderRequest {
  app: { name: string; namespace: string; project: string };
  /** Where the objects go; Helm templates see it. */
  namespace: string;
  source: Source;
  repo: RepoAccess;
  freshness: Freshness;
  kubeVersion?: string;
  /** The content the caller already holds: with the same key the answer leaves the objects out. */
  known?: string;
}

export interface Rendered {
  /** The commit, or the chart version. */
  revision: string;
  /** Digest of all that went in; the same key always means the same objects. */
  key: string;
  sourceType: SourceType;
  /** Shared with a cache: to be copied before a change. Absent when the caller's `known` is this key. */
  objects?: KubeObject[];
}

export interface Refs {
  /** Commit of HEAD. */
  head?: string;
  defaultBranch?: string;
  branches: Record<string, string>;
  tags: Record<string, string>;
}

/** The door of the repo server, the same in one process and over the network. */
export interface RepoDoor {
  render(request: RenderRequest): Promise<Outcome<Rendered>>;
  refs(repo: RepoAccess): Promise<Outcome<Refs>>;
}
