import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { refusedFrom } from "../../../base/cloud/address.ts";
import { digest } from "../../../base/json/canonical.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { authorizationOf } from "../auth/authorization.ts";
import { ask, refusal } from "../auth/http-request.ts";
import { REPO, type RepoAccess } from "../types.ts";
import { identityOf, isSsh, redactUrl } from "../url.ts";
import { BOUNDS, type Entry, Tree } from "./tree.ts";

const MAX_POINTER = 1_024;
const MAX_BATCH_BYTES = 100_000;
const MAX_HEADERS = 20;
// The files can be fetched again; a folder that has grown beyond this is emptied.
const MAX_KEPT_BYTES = 1_000_000_000;
const MEDIA = "application/vnd.git-lfs+json";
const POINTER = /^version https:\/\/git-lfs\.github\.com\/spec\/v1\noid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n?$/;

/** A commit's files, with the content of Git LFS pointers. A pointer names its content, so ids stay ids of content. */
export class LfsTree extends Tree {
  readonly root: string;
  readonly #inner: Tree;
  readonly #content: (oid: string, size: number, path: string) => Promise<Outcome<Buffer>>;

  constructor(inner: Tree, content: (oid: string, size: number, path: string) => Promise<Outcome<Buffer>>) {
    super();
    this.#inner = inner;
    this.#content = content;
    this.root = `l:${inner.root}`;
  }

  async list(id: string): Promise<Outcome<Entry[]>> {
    const entries = await this.#inner.list(id.slice(2));
    if (entries.kind !== "done") return entries;
    // A submodule's id is a commit, which is not a file.
    return done(
      entries.value.map((entry) => (entry.kind === "submodule" ? entry : { ...entry, sha: `l:${entry.sha}` })),
    );
  }

  async blob(id: string, path: string, maxBytes = BOUNDS.fileBytes): Promise<Outcome<Buffer>> {
    const blob = await this.#inner.blob(id.slice(2), path, maxBytes);
    const pointer =
      blob.kind === "done" && blob.value.length <= MAX_POINTER
        ? POINTER.exec(blob.value.toString("latin1"))
        : undefined;
    if (!pointer) return blob;
    const size = Number(pointer[2]);
    if (size > maxBytes)
      return stop(REPO.tooLarge, `${path}: a file of ${size} bytes in Git LFS is larger than the limit of ${maxBytes}`);
    return this.#content(pointer[1]!, size, path);
  }
}

/** Contents of Git LFS, fetched one by one when they are read, and kept by their own digest for each way in. */
export class LfsStore {
  readonly #folder: string;
  readonly #fetching = new Map<string, Promise<Outcome<Buffer>>>();
  #kept = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  over(tree: Tree, repo: RepoAccess): Tree {
    return new LfsTree(tree, (oid, size, path) => this.#get(repo, oid, size, path));
  }

  #get(repo: RepoAccess, oid: string, size: number, path: string): Promise<Outcome<Buffer>> {
    const folder = join(this.#folder, digest(identityOf(repo)).slice(0, 32));
    const file = join(folder, oid);
    let running = this.#fetching.get(file);
    if (!running) {
      running = this.#find(repo, folder, oid, size, path).finally(() => this.#fetching.delete(file));
      this.#fetching.set(file, running);
    }
    return running;
  }

  async #find(repo: RepoAccess, folder: string, oid: string, size: number, path: string): Promise<Outcome<Buffer>> {
    const here = await readFile(join(folder, oid)).catch(() => undefined);
    if (here && here.length === size && sha256(here) === oid) return done(here);
    const got = await download(repo, oid, size, path);
    if (got.kind !== "done") return got;
    this.#kept += size;
    if (this.#kept > MAX_KEPT_BYTES) {
      this.#kept = size;
      await rm(this.#folder, { recursive: true, force: true });
    }
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const beside = join(folder, `${oid}.${randomUUID()}`);
    await writeFile(beside, got.value, { mode: 0o600 });
    await rename(beside, join(folder, oid));
    return got;
  }
}

/** The batch interface of Git LFS: where an object is, and then the object. */
async function download(repo: RepoAccess, oid: string, size: number, path: string): Promise<Outcome<Buffer>> {
  const shown = `${path} in Git LFS of ${redactUrl(repo.url)}`;
  if (isSsh(repo.url) || !/^https?:/.test(repo.url))
    return stop(REPO.unsupported, `${shown}: it is read over https alone; give the repository's https address`);
  const authorization = await authorizationOf(repo);
  if (authorization.kind !== "done") return authorization;
  const base = repo.url.replace(/(?<!\/)\/+$/, "").replace(/(\.git)?$/, ".git/info/lfs");
  const asked = await ask(`${base}/objects/batch`, repo, {
    method: "POST",
    authorization: authorization.value,
    headers: { accept: MEDIA, "content-type": MEDIA, "user-agent": "git-lfs/3.0" },
    body: JSON.stringify({
      operation: "download",
      transfers: ["basic"],
      hash_algo: "sha256",
      objects: [{ oid, size }],
    }),
    maxBytes: MAX_BATCH_BYTES,
    shown,
  });
  if (asked.kind !== "done") return asked;
  const refused = refusal(asked.value, shown, authorization.value !== undefined);
  if (refused) return refused;
  const action = actionOf(asked.value.body, oid);
  if (!action) return stop(REPO.path, `${shown}: the server does not have it; push it with git lfs push`);
  const own = new URL(base);
  const href = URL.canParse(action.href) ? new URL(action.href) : undefined;
  const plain = href?.protocol === "http:" && own.protocol === "http:";
  if (
    !href ||
    (href.protocol !== "https:" && !plain) ||
    href.username ||
    href.password ||
    refusedFrom(own.hostname)(href.hostname)
  )
    return stop(REPO.urlRefused, `${shown}: the server sends to a refused address`);
  // Its own credentials go to the repository's host alone; another store of the content gets what the server gave for it.
  const same = href.origin === own.origin;
  const { authorization: given, ...headers } = action.header;
  const { proxy, noProxy } = repo;
  const got = await ask(href.href, same ? repo : { url: href.href, proxy, noProxy }, {
    headers,
    authorization: given ?? (same ? authorization.value : undefined),
    maxBytes: size,
    shown,
  });
  if (got.kind !== "done") return got;
  const failed = refusal(got.value, shown, authorization.value !== undefined);
  if (failed) return failed;
  const fits = got.value.body.length === size && sha256(got.value.body) === oid;
  return fits
    ? done(got.value.body)
    : stop(REPO.refused, `${shown}: the server sent something else than its pointer names`);
}

function actionOf(body: Buffer, oid: string): { href: string; header: Record<string, string> } | undefined {
  try {
    const { objects } = readJson(body.toString("utf8")) as { objects?: Record<string, unknown>[] };
    const object = Array.isArray(objects) ? objects.find((one) => one?.oid === oid) : undefined;
    const { href, header } =
      (object?.actions as { download?: { href?: unknown; header?: unknown } } | undefined)?.download ?? {};
    if (typeof href !== "string") return undefined;
    const fields = Object.entries(header ?? {}).slice(0, MAX_HEADERS);
    const fit = fields.filter(
      (entry): entry is [string, string] =>
        /^[A-Za-z0-9-]{1,100}$/.test(entry[0]) &&
        !/^(host|content-length|transfer-encoding|connection)$/i.test(entry[0]) &&
        isField(entry[1]),
    );
    return { href, header: Object.fromEntries(fit.map(([name, value]) => [name.toLowerCase(), value])) };
  } catch {
    return undefined;
  }
}

const isField = (value: unknown): boolean => typeof value === "string" && /^[\x20-\x7e]{0,8000}$/.test(value);
const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
