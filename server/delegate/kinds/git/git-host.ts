import type { Schemas } from "../../../../openapi/client.ts";
import type { Outcome } from "../../../base/outcome.ts";

export type GitProvider = Schemas["GitProvider"];

export interface FileChange {
  path: string;
  content: string;
  /** False: the file is new. */
  exists: boolean;
}

export interface PullRequest {
  number: number;
  url: string;
  state: "open" | "merged" | "closed";
  /** Branch that it would bring in, and the one it goes to. */
  branch: string;
  base: string;
  /** Newest commit of `branch`. */
  head: string;
  /** The commit that the merge made. */
  mergeCommit?: string | undefined;
  /** Why it cannot be merged now; undefined when it can. `wait`: it may become possible by itself. */
  blocked?: { why: string; wait: boolean } | undefined;
}

/** What the steps of a pull request's life need of a host, the same for each. */
export interface GitHost {
  /** Newest commit of a branch; undefined when there is no such branch. */
  head(branch: string): Promise<Outcome<string | undefined>>;
  /** Text of a file at a branch; undefined when there is none. */
  file(path: string, branch: string): Promise<Outcome<string | undefined>>;
  /** One commit with all changes, on `branch`, which is made from `base` when it is new. Gives the commit. */
  commit(options: {
    base: string;
    branch: string;
    message: string;
    files: readonly FileChange[];
  }): Promise<Outcome<string>>;
  openPull(options: { base: string; branch: string; title: string; body: string }): Promise<Outcome<PullRequest>>;
  /** The open pull request of a branch, if there is one. */
  findPull(branch: string, base: string): Promise<Outcome<PullRequest | undefined>>;
  pull(number: number): Promise<Outcome<PullRequest>>;
  merge(
    pull: PullRequest,
    options: { strategy: "merge" | "squash" | "rebase"; message?: string | undefined },
  ): Promise<Outcome<void>>;
  deleteBranch(branch: string): Promise<Outcome<void>>;
  /** Address for git over HTTP, and who signs in with the token there. */
  clone(): Promise<Outcome<{ url: string; username: string }>>;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface GitHostAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of other people's services; each use reads what it needs
  json: any;
}
/** One call of a host's API. Only statuses in `fine` are answers, any other is a refusal in the host's words. */
export type CallHost = (
  method: Method,
  path: string,
  body?: object,
  fine?: readonly number[],
) => Promise<Outcome<GitHostAnswer>>;

/** The state of a pull request that is not merged. */
export const openOrClosed = (isOpen: boolean): "open" | "closed" => (isOpen ? "open" : "closed");
