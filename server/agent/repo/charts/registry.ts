import { createHash } from "node:crypto";
import { EnvHttpProxyAgent, request } from "undici";
import { guardedLookup, isMetadata, refusedFrom } from "../../../base/cloud/address.ts";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { registrySignIn, signsIn } from "../auth/authorization.ts";
import { tlsOf, unreachable } from "../auth/http-request.ts";
import { REPO, type RepoAccess } from "../types.ts";

const DEADLINE_MS = 60_000;
const MAX_JSON = 1_000_000;
const MAX_TAGS = 10_000;
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";

export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

export interface Artifact {
  digest: string;
  layers: Descriptor[];
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** One repository of an OCI registry, read with its own credentials; they go to that registry and to nobody else. */
export class RegistryClient {
  readonly #repo: RepoAccess;
  readonly #origin: string;
  readonly #name: string;
  readonly #agent: EnvHttpProxyAgent;
  readonly #refused: (address: string) => boolean;
  #authorization: string | undefined;

  constructor(repo: RepoAccess) {
    const { host, hostname, pathname } = new URL(repo.url.replace(/^oci:/, "https:"));
    this.#repo = repo;
    this.#origin = `${repo.forceHttp ? "http" : "https"}://${host}`;
    this.#name = pathname.replace(/^\/+|(?<!\/)\/+$/g, "");
    this.#refused = refusedFrom(hostname);
    const lookup = guardedLookup(this.#refused, "it leads to a refused address");
    const tls = tlsOf(repo);
    const proxy = repo.proxy ? { httpProxy: repo.proxy, httpsProxy: repo.proxy, noProxy: repo.noProxy ?? "" } : {};
    const connect = { timeout: 10_000, lookup, ...tls };
    this.#agent = new EnvHttpProxyAgent({ connect, requestTls: tls, proxyTls: { lookup }, ...proxy });
  }

  /** `oci://host/path`, where the path has the characters that registries allow. */
  static fits(url: string): boolean {
    return (
      /^oci:\/\/[A-Za-z0-9.[\]:-]+(\/[a-z0-9]+([._-]+[a-z0-9]+)*)+\/?$/.test(url) &&
      !isMetadata(new URL(url.replace(/^oci:/, "https:")).hostname)
    );
  }

  /** Whether a registry is there and lets us in. */
  async ping(): Promise<Outcome<undefined>> {
    const got = await this.#get("/v2/", "application/json", MAX_JSON);
    if (got.kind === "done") return done(undefined);
    return got.reason === REPO.notFound
      ? stop(REPO.notRepository, `${this.#shown} answers, but is not a registry; look at its address`)
      : got;
  }

  async tags(): Promise<Outcome<string[]>> {
    const tags: string[] = [];
    let last = "";
    do {
      const got = await this.#get(
        `/v2/${this.#name}/tags/list?n=1000${last && `&last=${encodeURIComponent(last)}`}`,
        "application/json",
        MAX_JSON,
      );
      if (got.kind !== "done") return got;
      const page = parse(got.value.body)?.tags;
      if (!Array.isArray(page)) break;
      for (const tag of page) if (typeof tag === "string") tags.push(tag);
      last = got.value.headers.link ? String(page.at(-1) ?? "") : "";
    } while (last && tags.length < MAX_TAGS);
    return done(tags);
  }

  /** What a tag or digest names; undefined when there is no such thing. */
  async manifest(reference: string): Promise<Outcome<Artifact | undefined>> {
    const accept = `${MANIFEST}, application/vnd.docker.distribution.manifest.v2+json`;
    const got = await this.#get(`/v2/${this.#name}/manifests/${reference}`, accept, MAX_JSON);
    if (got.kind !== "done") return got.reason === REPO.notFound ? done(undefined) : got;
    const digest = sha256(got.value.body);
    if (reference.startsWith("sha256:") && digest !== reference)
      return stop(REPO.refused, `${this.#shown} sent another manifest than ${reference}`);
    const layers = parse(got.value.body)?.layers;
    if (!Array.isArray(layers))
      return stop(REPO.unsupported, `${this.#shown} at ${reference} is not a single artifact`);
    return done({ digest, layers: layers.map(toDescriptor) });
  }

  /** The bytes of a layer; what is not what its digest says is refused. */
  async blob({ digest, size }: Descriptor, maxBytes: number): Promise<Outcome<Buffer>> {
    if (!/^sha256:[0-9a-f]{64}$/.test(digest))
      return stop(REPO.refused, `${this.#shown} names a layer by ${digest.slice(0, 100)}`);
    if (size > maxBytes)
      return stop(REPO.tooLarge, `${this.#shown} has a layer of ${size} bytes, more than is accepted`);
    const got = await this.#get(`/v2/${this.#name}/blobs/${digest}`, "*/*", maxBytes);
    if (got.kind !== "done") return got;
    return sha256(got.value.body) === digest
      ? done(got.value.body)
      : stop(REPO.refused, `${this.#shown} sent another layer than ${digest}`);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  get #shown(): string {
    return `oci://${new URL(this.#origin).host}/${this.#name}`;
  }

  async #get(path: string, accept: string, maxBytes: number): Promise<Outcome<Answer>> {
    let answer = await this.#ask(`${this.#origin}${path}`, accept, maxBytes, this.#authorization);
    if (answer.kind === "done" && answer.value.status === 401 && !this.#authorization) {
      const authorization = await this.#signIn(String(answer.value.headers["www-authenticate"] ?? ""));
      if (authorization.kind !== "done") return authorization;
      this.#authorization = authorization.value;
      answer = await this.#ask(`${this.#origin}${path}`, accept, maxBytes, this.#authorization);
    }
    if (answer.kind !== "done") return answer;
    const { status } = answer.value;
    if (status === 200) return answer;
    if (status === 401 || status === 403) {
      const has = signsIn(this.#repo);
      return stop(
        REPO.authentication,
        has
          ? `${this.#shown} does not accept the credentials given for it`
          : `${this.#shown} asks for credentials and none are given for it`,
      );
    }
    if (status === 404) return stop(REPO.notFound, `there is nothing at ${this.#shown}`);
    return again(REPO.unreachable, `${this.#shown} answered ${status}`);
  }

  /** A challenge's answer: the password itself, or a token from where the registry says. */
  async #signIn(challenge: string): Promise<Outcome<string>> {
    const field = (name: string) => new RegExp(`${name}="([^"]*)"`, "i").exec(challenge)?.[1];
    const signedIn = await registrySignIn(this.#repo, this.#origin, field("realm") ?? "", field("service") ?? "");
    if (signedIn.kind !== "done") return signedIn;
    const { username = "", password, bearerToken } = signedIn.value;
    if (bearerToken) return done(`Bearer ${bearerToken.reveal()}`);
    const basic = password ? `Basic ${Buffer.from(`${username}:${password.reveal()}`).toString("base64")}` : undefined;
    if (!/^bearer /i.test(challenge)) return basic ? done(basic) : done("");
    const realm = field("realm") ?? "";
    if (!URL.canParse(realm) || (new URL(realm).protocol !== "https:" && !this.#repo.forceHttp))
      return stop(REPO.refused, `${this.#shown} names no usable place for tokens`);
    const url = new URL(realm);
    if (this.#refused(url.hostname)) return stop(REPO.urlRefused, `${this.#shown} names a refused place for tokens`);
    url.searchParams.set("service", field("service") ?? "");
    url.searchParams.set("scope", field("scope") ?? `repository:${this.#name}:pull`);
    // A registry's own domain may hand out its tokens; the password goes to no other.
    const own = domain(url.hostname) === domain(new URL(this.#origin).hostname);
    const got = await this.#ask(url.href, "application/json", MAX_JSON, own ? basic : undefined);
    if (got.kind !== "done") return got;
    const { token, access_token } = parse(got.value.body) ?? {};
    const bearer = typeof token === "string" ? token : access_token;
    return done(typeof bearer === "string" && /^[\x21-\x7e]+$/.test(bearer) ? `Bearer ${bearer}` : "");
  }

  async #ask(
    to: string,
    accept: string,
    maxBytes: number,
    authorization: string | undefined,
  ): Promise<Outcome<Answer>> {
    let url = new URL(to);
    try {
      for (let hops = 0; ; hops++) {
        // Blobs are often elsewhere; whoever keeps them gets no credentials.
        const own = url.origin === new URL(to).origin;
        const headers = { accept, ...(authorization && own ? { authorization } : {}) };
        const signal = AbortSignal.timeout(DEADLINE_MS);
        const answer = await request(url, {
          dispatcher: this.#agent,
          headers,
          signal,
          headersTimeout: DEADLINE_MS,
          bodyTimeout: 30_000,
        });
        const { location } = answer.headers;
        if ([301, 302, 303, 307, 308].includes(answer.statusCode) && typeof location === "string" && hops < 3) {
          await answer.body.dump();
          const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
          const safe =
            next && ["https:", "http:"].includes(next.protocol) && !next.username && !this.#refused(next.hostname);
          if (!safe || (url.protocol === "https:" && next.protocol === "http:"))
            return stop(REPO.urlRefused, `${this.#shown} redirects to a refused address`);
          url = next;
          continue;
        }
        const chunks: Buffer[] = [];
        let size = 0;
        for await (const chunk of answer.body as AsyncIterable<Buffer>) {
          size += chunk.length;
          if (size > maxBytes) return stop(REPO.tooLarge, `${this.#shown} sent more than ${maxBytes} bytes`);
          chunks.push(chunk);
        }
        return done({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) });
      }
    } catch (error) {
      return unreachable(error, this.#shown);
    }
  }
}

const sha256 = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** The last two labels of a name; an address is itself. */
const domain = (host: string): string => (/^[\d.]+$|:/.test(host) ? host : host.split(".").slice(-2).join("."));

function parse(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function toDescriptor(value: unknown): Descriptor {
  const { mediaType, digest, size } = (value ?? {}) as Record<string, unknown>;
  return { mediaType: String(mediaType ?? ""), digest: String(digest ?? ""), size: Number(size) || 0 };
}
