import { randomUUID } from "node:crypto";
import { AwsError, type Operation } from "./errors.ts";

interface Held {
  id: string;
  defaultBranch?: string;
  tags: Record<string, string>;
  /** Branch → paths of files. */
  branches: Record<string, string[]>;
}

const PAGE = 2;

/** CodeCommit as far as repositories, branches and folders go, and the tags of its repositories; pages of two. */
export class CodeCommit {
  readonly #account: string;
  readonly #region: string;
  readonly #held = new Map<string, Held>();

  constructor({ account, region }: { account: string; region: string }) {
    this.#account = account;
    this.#region = region;
  }

  /** The first branch is the default one; without any the repository is empty. */
  add(name: string, branches: Record<string, string[]>, tags: Record<string, string> = {}): void {
    this.#held.set(name, { id: randomUUID(), defaultBranch: Object.keys(branches)[0], tags, branches });
  }

  readonly operations: Record<string, Operation> = {
    ListRepositories: ({ nextToken }) => {
      const all = [...this.#held].map(([repositoryName, { id }]) => ({ repositoryName, repositoryId: id }));
      const { items, next } = page(all, nextToken);
      return { repositories: items, ...(next ? { nextToken: next } : {}) };
    },
    GetRepository: ({ repositoryName }) => {
      const { id, defaultBranch } = this.#find(repositoryName);
      const host = `git-codecommit.${this.#region}.amazonaws.com/v1/repos/${repositoryName}`;
      const urls = { cloneUrlHttp: `https://${host}`, cloneUrlSsh: `ssh://${host}` };
      const metadata = {
        accountId: this.#account,
        repositoryId: id,
        repositoryName,
        ...urls,
        ...(defaultBranch ? { defaultBranch } : {}),
      };
      return { repositoryMetadata: metadata };
    },
    ListBranches: ({ repositoryName, nextToken }) => {
      const { items, next } = page(Object.keys(this.#find(repositoryName).branches), nextToken);
      return { branches: items, ...(next ? { nextToken: next } : {}) };
    },
    GetFolder: ({ repositoryName, commitSpecifier, folderPath }) => {
      const paths = this.#find(repositoryName).branches[commitSpecifier];
      if (!paths) throw new AwsError("CommitDoesNotExistException", "Could not resolve this commit");
      const folder = folderPath === "/" ? "" : `${String(folderPath).replace(/^\//, "")}/`;
      const inside = paths.filter((one) => one.startsWith(folder)).map((one) => one.slice(folder.length));
      if (folder && inside.length === 0) throw new AwsError("FolderDoesNotExistException", "Could not find the folder");
      const named = (names: string[]) =>
        [...new Set(names)].map((name) => ({ absolutePath: `${folder}${name}`, relativePath: name }));
      return {
        files: named(inside.filter((one) => !one.includes("/"))),
        subFolders: named(inside.filter((one) => one.includes("/")).map((one) => one.split("/")[0]!)),
        symbolicLinks: [],
        subModules: [],
      };
    },
  };

  readonly tagging: Record<string, Operation> = {
    GetResources: ({ ResourceTypeFilters, TagFilters = [], PaginationToken }) => {
      if (String(ResourceTypeFilters) !== "codecommit:repository")
        throw new AwsError("InvalidParameterException", "Only codecommit is here");
      const fits = ({ tags }: Held) =>
        (TagFilters as { Key: string; Values?: string[] }[]).every(
          ({ Key, Values }) => Key in tags && (!Values?.length || Values.includes(tags[Key]!)),
        );
      const all = [...this.#held].filter(([, one]) => fits(one));
      const arns = all.map(([name]) => ({
        ResourceARN: `arn:aws:codecommit:${this.#region}:${this.#account}:${name}`,
      }));
      const { items, next } = page(arns, PaginationToken);
      return { ResourceTagMappingList: items, PaginationToken: next ?? "" };
    },
  };

  #find(name: string): Held {
    const held = this.#held.get(name);
    if (!held) throw new AwsError("RepositoryDoesNotExistException", `${name} does not exist`);
    return held;
  }
}

function page<T>(all: T[], token: unknown): { items: T[]; next?: string } {
  const start = token ? Number(Buffer.from(String(token), "base64").toString()) : 0;
  const next = start + PAGE < all.length ? Buffer.from(String(start + PAGE)).toString("base64") : undefined;
  return { items: all.slice(start, start + PAGE), ...(next ? { next } : {}) };
}
