import { done, type Outcome } from "../../../base/outcome.ts";
import type { Secret } from "../../../base/secret.ts";
import type { Integrity, LookRequest, RepoAccess, RepoApi } from "../../repo/types.ts";
import type { Free, LabelSelector } from "../types.ts";

export interface Cluster {
  name: string;
  server: string;
  project?: string | null;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface RepositoryAt {
  repoURL: string;
  revision: string;
  /** Look again, though the answer is known. */
  fresh: boolean;
  /** Entries for this project only may be used. */
  project?: string;
}

/** An app with its key; `baseUrl` is the only place that it is shown to. */
export type GithubApp = Required<Pick<RepoAccess, "githubApp" | "githubAppPrivateKey">>;

/** What generators see of the world; each answer may fail, and a failure is never an empty answer. */
export interface World {
  /** Clusters that have a Secret. */
  clusters(): Cluster[];
  /** Folders of a repository, hidden ones left out. */
  directories(at: RepositoryAt): Promise<Outcome<string[]>>;
  /** Files that fit a pattern as `git ls-files` reads it, by path. */
  files(at: RepositoryAt, patterns: { include: string[]; exclude: string[] }): Promise<Outcome<Map<string, string>>>;
  /** Whose set it is, where its scope is below the agent's. */
  tenant?: string | undefined;
  /** A token; `chosen` says who decides where it is sent: the set, or the operator by a ConfigMap. */
  secret(name: string, key: string, chosen?: "set" | "operator"): Promise<Outcome<Secret>>;
  /** A GitHub App by the Secret that holds it; `project` is whose applications are asked for. */
  githubApp(name: string, project?: string): Promise<Outcome<GithubApp>>;
  configMap(name: string): Promise<Outcome<Record<string, string>>>;
  /** Objects of a kind in the set's namespace: one by name, or those that fit. */
  objects(
    apiVersion: string,
    plural: string,
    which: { name?: string; selector?: LabelSelector },
  ): Promise<Outcome<Free[]>>;
  /** Origins that a Secret's annotation limits its token to; nothing where it names none. */
  origins?(secretName: string): Promise<Outcome<string[] | undefined>>;
  /** Addresses of providers that may be asked; nothing allows all. */
  allowedProviders?: readonly string[];
}

/** The answers of a repo server about repositories; `access` holds the address and credentials of one. */
export function repositoryFiles(
  repo: Pick<RepoApi, "look">,
  access: (url: string, project?: string) => RepoAccess,
  integrity: (url: string, project?: string) => Integrity | undefined = () => undefined,
): Pick<World, "directories" | "files"> {
  const look = ({ repoURL, revision, fresh, project }: RepositoryAt, want: LookRequest["want"]) =>
    repo.look({
      repo: access(repoURL, project),
      revision,
      freshness: fresh ? "hard" : "normal",
      want,
      integrity: integrity(repoURL, project),
    });
  return {
    directories: async (at) => {
      const looked = await look(at, { directories: true });
      return looked.kind === "done" ? done(looked.value.directories ?? []) : looked;
    },
    files: async (at, patterns) => {
      const looked = await look(at, patterns);
      return looked.kind === "done" ? done(new Map(Object.entries(looked.value.files ?? {}))) : looked;
    },
  };
}
