import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, fetch } from "undici";
import { buildTools } from "../cluster/tools.ts";
import { bcrypt } from "./bcrypt.ts";
import { daemon, freePort, ready } from "./run.ts";
import { makeServerCertificate } from "./tls.ts";

export interface Manifest {
  /** `sha256:…` of the bytes that the registry sent, computed here. */
  digest: string;
  mediaType: string;
  // biome-ignore lint/suspicious/noExplicitAny: documents of many kinds, which a test takes apart.
  body: any;
}

/**
 * A real OCI registry (the CNCF's distribution), on loopback.
 *
 *   const registry = await startRegistry({ users: { robot: "password" } });
 *   await registry.pushLayout((await buildBusyboxImage(() => {})).layout, "base/busybox:1");
 *   expect(await registry.tags("team/app")).toEqual(["1"]);
 */
export interface Registry {
  /** `http://127.0.0.1:PORT`, or https. */
  readonly url: string;
  /** `127.0.0.1:PORT`, the first part of an image's name. Clients take 127.0.0.1 for "plain HTTP may be tried", or have a flag for it. */
  readonly host: string;
  readonly port: number;
  /** Path of the PEM file a client has to trust; only with `tls`. */
  readonly ca?: string;
  repositories(): Promise<string[]>;
  /** Sorted; empty for a repository without a push. */
  tags(repository: string): Promise<string[]>;
  /** What a tag or digest names: an image's manifest, an index or an artifact's. Undefined when it is not there. */
  manifest(repository: string, reference: string): Promise<Manifest | undefined>;
  /** A blob's bytes: an image's configuration, a layer. */
  blob(repository: string, digest: string): Promise<Buffer>;
  /** The configuration of an image of one platform: `config.Env`, `config.Labels`, `rootfs`. */
  imageConfig(
    repository: string,
    reference: string,
  ): Promise<Record<string, unknown> & { config: Record<string, unknown> }>;
  /** Uploads the first image of an OCI layout folder as `repository:tag` and tells the manifest's digest. */
  pushLayout(layout: string, name: string): Promise<string>;
  /** `{"auths": {HOST: {"auth": …}}}` for a user, as Docker, buildah, helm and crane read it. */
  dockerConfig(user: string, password?: string): string;
  /** The last lines of its log. */
  log(): string;
  stop(): Promise<void>;
}

export interface RegistryOptions {
  /** User → password. Without any, everybody may read and write. The helpers act as the first. */
  users?: Record<string, string>;
  /** HTTPS with a certificate of an authority of its own. */
  tls?: boolean;
  /** The program; default: built once from `test/cluster/tools-on-demand`. */
  program?: string;
}

export async function startRegistry({ users = {}, tls = false, program }: RegistryOptions = {}): Promise<Registry> {
  program ??= (await buildTools(() => {}, ["registry"])).registry!;
  const dir = await mkdtemp(join(tmpdir(), "registry-"));
  const clean = () => rm(dir, { recursive: true, force: true, maxRetries: 5 });
  try {
    const port = await freePort();
    const host = `127.0.0.1:${port}`;
    const url = `${tls ? "https" : "http"}://${host}`;
    const pem = tls ? await makeServerCertificate(dir) : undefined;
    const config = {
      version: "0.1",
      log: { level: "info", accesslog: { disabled: false } },
      storage: { filesystem: { rootdirectory: join(dir, "data") }, delete: { enabled: true } },
      http: {
        addr: host,
        secret: randomBytes(16).toString("hex"),
        ...(pem ? { tls: { certificate: pem.certificate, key: pem.key } } : {}),
      },
      ...(Object.keys(users).length ? { auth: { htpasswd: { realm: "test", path: join(dir, "htpasswd") } } } : {}),
    };
    const rows = await Promise.all(
      Object.entries(users).map(async ([name, password]) => `${name}:${await bcrypt(password)}\n`),
    );
    await writeFile(join(dir, "htpasswd"), rows.join(""), { mode: 0o600 });
    // JSON is YAML.
    await writeFile(join(dir, "config.yml"), JSON.stringify(config), { mode: 0o600 });
    const dispatcher = new Agent({ connect: pem ? { ca: await readFile(pem.ca) } : {} });
    const [first] = Object.entries(users);
    const authorization: Record<string, string> = first ? { authorization: basic(...first) } : {};
    const ask = (path: string, init: { method?: string; headers?: Record<string, string>; body?: Uint8Array } = {}) =>
      fetch(new URL(path, url), {
        ...init,
        headers: { ...authorization, ...init.headers },
        dispatcher,
        signal: AbortSignal.timeout(30_000),
      });
    // Without this setting it looks for a collector of traces.
    const server = daemon(program, ["serve", join(dir, "config.yml")], {
      env: { OTEL_TRACES_EXPORTER: "none", HOME: dir },
    });
    const stop = async () => {
      await dispatcher.close();
      await server.stop();
      await clean();
    };
    const answers = () =>
      ask("/v2/").then(
        (answer) => answer.ok,
        () => false,
      );
    await ready("registry", server, answers);
    return {
      url,
      host,
      port,
      ...(pem ? { ca: pem.ca } : {}),
      ...helpers(ask),
      dockerConfig: (user, password = users[user] ?? "") =>
        JSON.stringify({ auths: { [host]: { auth: Buffer.from(`${user}:${password}`).toString("base64") } } }),
      log: server.said,
      stop,
    };
  } catch (error) {
    await clean();
    throw error;
  }
}

type Ask = (
  path: string,
  init?: { method?: string; headers?: Record<string, string>; body?: Uint8Array },
) => ReturnType<typeof fetch>;

const MANIFESTS = [
  ...["manifest.v1", "index.v1"].map((kind) => `application/vnd.oci.image.${kind}+json`),
  ...["manifest.v2", "manifest.list.v2"].map((kind) => `application/vnd.docker.distribution.${kind}+json`),
].join(", ");

/** The distribution API, as far as tests ask it. */
function helpers(ask: Ask) {
  const must = async (path: string, init?: Parameters<Ask>[1]) => {
    const answer = await ask(path, init);
    if (!answer.ok) throw new Error(`${init?.method ?? "GET"} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  const blob = async (repository: string, digest: string) =>
    Buffer.from(await (await must(`/v2/${repository}/blobs/${digest}`)).arrayBuffer());
  const manifest = async (repository: string, reference: string): Promise<Manifest | undefined> => {
    const answer = await ask(`/v2/${repository}/manifests/${reference}`, { headers: { accept: MANIFESTS } });
    if (answer.status === 404) return undefined;
    if (!answer.ok) throw new Error(`${repository}:${reference}: ${answer.status} ${await answer.text()}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    return {
      digest: digestOf(bytes),
      mediaType: answer.headers.get("content-type") ?? "",
      body: JSON.parse(bytes.toString()),
    };
  };
  return {
    blob,
    manifest,
    repositories: async () =>
      ((await (await must("/v2/_catalog?n=1000")).json()) as { repositories: string[] }).repositories,
    tags: async (repository: string) => {
      const answer = await ask(`/v2/${repository}/tags/list`);
      if (answer.status === 404) return [];
      return (((await answer.json()) as { tags: string[] | null }).tags ?? []).sort();
    },
    imageConfig: async (repository: string, reference: string) => {
      const found = await manifest(repository, reference);
      if (!found) throw new Error(`${repository}:${reference} is not in the registry`);
      return JSON.parse((await blob(repository, found.body.config.digest)).toString());
    },
    pushLayout: async (layout: string, name: string) => {
      const { repository, tag } = splitName(name);
      const read = (digest: string) => readFile(join(layout, "blobs", ...digest.split(":")));
      const { manifests } = JSON.parse(await readFile(join(layout, "index.json"), "utf8"));
      const { digest, mediaType } = manifests[0];
      const bytes = await read(digest);
      const { config, layers } = JSON.parse(bytes.toString());
      for (const part of [config, ...layers]) {
        const place = (await must(`/v2/${repository}/blobs/uploads/`, { method: "POST" })).headers.get("location")!;
        const at = new URL(place);
        at.searchParams.set("digest", part.digest);
        const headers = { "content-type": "application/octet-stream" };
        await must(`${at.pathname}${at.search}`, { method: "PUT", headers, body: await read(part.digest) });
      }
      await must(`/v2/${repository}/manifests/${tag}`, {
        method: "PUT",
        headers: { "content-type": mediaType },
        body: bytes,
      });
      return digest as string;
    },
  };
}

/** `team/app:1` → its parts; the tag is `latest` when none is said. */
export function splitName(name: string): { repository: string; tag: string } {
  const [repository, tag = "latest"] = name.split(":");
  return { repository: repository!, tag };
}

const digestOf = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
