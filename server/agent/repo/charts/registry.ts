import { createHash } from "node:crypto";
import { EnvHttpProxyAgent, request } from "undici";
import { guardedLookup, isMetadata, refusedFrom } from "../../../base/cloud/address.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { basicLogin, tokenOf } from "../../../base/oci/challenge.ts";
import { MEDIA, type OciAnswer, type OciAsk, OciClient, type OciSignIn } from "../../../base/oci/client.ts";
import { again, done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { registrySignIn, signsIn } from "../auth/authorization.ts";
import { tlsOf, unreachable } from "../auth/http-request.ts";
import { REPO, type RepoAccess } from "../types.ts";

const DEADLINE_MS = 60_000;
const MAX_JSON = 1_000_000;
const MAX_TAGS = 10_000;

export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

export interface Artifact {
  digest: string;
  layers: Descriptor[];
}

/** One repository of an OCI registry, read with its own credentials; they go to that registry only. */
export class RegistryClient {
  readonly #repo: RepoAccess;
  readonly #origin: string;
  readonly #name: string;
  readonly #agent: EnvHttpProxyAgent;
  readonly #refused: (address: string) => boolean;
  readonly #client: OciClient;

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
    this.#client = new OciClient({
      origin: this.#origin,
      repository: this.#name,
      send: (url, ask) => this.#send(url, ask),
      signIn: (asked) => this.#signIn(asked),
      judge: (answer) => this.#judge(answer),
    });
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
    const got = await this.#client.ping();
    if (got.kind === "done") return done(undefined);
    return got.reason === REPO.notFound
      ? stop(REPO.notRepository, `${this.#shown} answers, but is not a registry; look at its address`)
      : got;
  }

  async tags(): Promise<Outcome<string[]>> {
    const tags: string[] = [];
    let last = "";
    do {
      const got = await this.#client.tags(last, MAX_JSON);
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
    const got = await this.#client.manifest(reference, MEDIA.image, MAX_JSON);
    if (got.kind !== "done") return got.reason === REPO.notFound ? done(undefined) : got;
    const digest = sha256(got.value.body);
    if (reference.startsWith("sha256:") && digest !== reference)
      return stop(REPO.refused, `${this.#shown} sent another manifest than ${reference}`);
    const layers = parse(got.value.body)?.layers;
    if (!Array.isArray(layers))
      return stop(REPO.unsupported, `${this.#shown} at ${reference} is not a single artifact`);
    return done({ digest, layers: layers.map(toDescriptor) });
  }

  /** The bytes of a layer; bytes that do not match the digest are refused. */
  async blob({ digest, size }: Descriptor, maxBytes: number): Promise<Outcome<Buffer>> {
    if (!/^sha256:[0-9a-f]{64}$/.test(digest))
      return stop(REPO.refused, `${this.#shown} names a layer by ${digest.slice(0, 100)}`);
    if (size > maxBytes)
      return stop(REPO.tooLarge, `${this.#shown} has a layer of ${size} bytes, more than is accepted`);
    const got = await this.#client.blob(digest, { headers: { accept: "*/*" }, maxBytes });
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

  /** Only an answer of 200 is one; redirects were followed before. */
  #judge({ status }: OciAnswer): Failure | undefined {
    if (status === 200) return undefined;
    if (status === 401 || status === 403)
      return stop(
        REPO.authentication,
        signsIn(this.#repo)
          ? `${this.#shown} does not accept the credentials given for it`
          : `${this.#shown} asks for credentials and none are given for it`,
      );
    if (status === 404) return stop(REPO.notFound, `there is nothing at ${this.#shown}`);
    return again(REPO.unreachable, `${this.#shown} answered ${status}`);
  }

  /** A challenge's answer: the password itself, or a token from where the registry says. */
  async #signIn({ challenge, scope }: OciSignIn): Promise<Outcome<string>> {
    const { realm = "", service = "" } = challenge;
    const signedIn = await registrySignIn(this.#repo, this.#origin, realm, service);
    if (signedIn.kind !== "done") return signedIn;
    const { username = "", password, bearerToken } = signedIn.value;
    if (bearerToken) return done(`Bearer ${bearerToken.reveal()}`);
    const basic = password ? basicLogin(username, password.reveal()) : undefined;
    if (!challenge.bearer) return done(basic ?? "");
    if (!URL.canParse(realm) || (new URL(realm).protocol !== "https:" && !this.#repo.forceHttp))
      return stop(REPO.refused, `${this.#shown} names no usable place for tokens`);
    const url = new URL(realm);
    if (this.#refused(url.hostname)) return stop(REPO.urlRefused, `${this.#shown} names a refused place for tokens`);
    url.searchParams.set("service", service);
    url.searchParams.set("scope", challenge.scope ?? scope);
    // A registry's own domain may hand out its tokens; the password goes to no other.
    const own = domain(url.hostname) === domain(new URL(this.#origin).hostname);
    const got = await this.#send(url.href, {
      headers: { accept: "application/json", ...(own && basic ? { authorization: basic } : {}) },
    });
    if (got.kind !== "done") return got;
    const token = tokenOf(got.value.body);
    return done(token ? `Bearer ${token}` : "");
  }

  async #send(to: string, { headers: given, maxBytes = MAX_JSON }: OciAsk): Promise<Outcome<OciAnswer>> {
    const { authorization, ...plain } = given ?? {};
    let url = new URL(to);
    try {
      for (let hops = 0; ; hops++) {
        // Blobs are often on another host, which gets no credentials.
        const own = url.origin === new URL(to).origin;
        const headers = { ...plain, ...(authorization && own ? { authorization } : {}) };
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
        return done({ status: answer.statusCode, headers: joined(answer.headers), body: Buffer.concat(chunks) });
      }
    } catch (error) {
      return unreachable(error, this.#shown);
    }
  }
}

const sha256 = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

const joined = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value ?? "")]));

/** The last two labels of a name; an address is itself. */
const domain = (host: string): string => (/^[\d.]+$|:/.test(host) ? host : host.split(".").slice(-2).join("."));

function parse(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = readJson(body.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function toDescriptor(value: unknown): Descriptor {
  const { mediaType, digest, size } = (value ?? {}) as Record<string, unknown>;
  return { mediaType: String(mediaType ?? ""), digest: String(digest ?? ""), size: Number(size) || 0 };
}
