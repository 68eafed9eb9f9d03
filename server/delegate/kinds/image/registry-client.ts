import { again, done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { patiently } from "../../config/retry.ts";
import type { TaskContext } from "../../kind.ts";
import type { FetchAnswer, FetchAsk } from "../../task/fetch.ts";
import { type ImageName, placeOf } from "./image-ref.ts";
import { loginOf, type RegistryLogin } from "./registry-logins.ts";

export const MEDIA = {
  index: ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"],
  image: ["application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"],
};
const ACCEPT = [...MEDIA.image, ...MEDIA.index].join(", ");

const MAX_MANIFEST = 4 * 1024 * 1024;
const MAX_BLOB = 16 * 1024 * 1024 * 1024;
const BLOB_MS = 3_600_000;

export interface ManifestBytes {
  bytes: Buffer;
  mediaType: string;
}

/** One repository of one registry, over the distribution API. */
export class RepositoryClient {
  readonly #context: TaskContext;
  readonly #image: ImageName;
  readonly #login: RegistryLogin | undefined;
  readonly #origin: string;
  #authorization: string | undefined;

  constructor(image: ImageName, logins: readonly RegistryLogin[], context: TaskContext) {
    this.#image = image;
    this.#context = context;
    this.#login = loginOf(placeOf(image), logins);
    this.#origin = `${this.#login?.plainHttp ? "http" : "https"}://${image.host}`;
  }

  /** The bytes of a manifest or index; undefined when there is none. */
  async manifest(reference: string): Promise<Outcome<ManifestBytes | undefined>> {
    const got = await this.#ask("pull", this.#path(`manifests/${reference}`), {
      headers: { accept: ACCEPT },
      maxBytes: MAX_MANIFEST,
    });
    if (got.kind !== "done") return got;
    if (got.value.status === 404) return done(undefined);
    if (got.value.status !== 200) return this.#refused("read", got.value);
    return done({ bytes: got.value.body, mediaType: got.value.headers["content-type"]?.split(";")[0]?.trim() ?? "" });
  }

  async hasBlob(digest: string): Promise<Outcome<boolean>> {
    const got = await this.#ask("push", this.#path(`blobs/${digest}`), { method: "HEAD" });
    if (got.kind !== "done") return got;
    // Storage elsewhere: the redirect says that it is there.
    return done(got.value.status === 200 || (got.value.status >= 300 && got.value.status < 400));
  }

  /** Saves a blob in a file; its digest is compared before it is used. */
  async saveBlob(digest: string, to: NonNullable<FetchAsk["to"]>): Promise<Outcome<void>> {
    const got = await this.#ask("pull", this.#path(`blobs/${digest}`), { to, maxBytes: MAX_BLOB, deadlineMs: BLOB_MS });
    if (got.kind !== "done") return got;
    let answer = got.value;
    if (answer.status >= 300 && answer.status < 400 && answer.headers.location) {
      // Storage of the registry, on another host: it is asked without the login.
      const place = new URL(answer.headers.location, this.#origin);
      if (place.protocol === "http:" && this.#origin.startsWith("https:"))
        return stop("RegistryFailed", `${this.#image.registry} leads from https to http, which is not followed`);
      const saved = await this.#context.fetch(place.href, {
        to,
        maxBytes: MAX_BLOB,
        deadlineMs: BLOB_MS,
        ...this.#ca(),
      });
      if (saved.kind !== "done") return saved;
      answer = saved.value;
    }
    if (answer.status !== 200) return this.#refused("read", answer);
    return done(undefined);
  }

  async putBlob(digest: string, body: NonNullable<FetchAsk["body"]>): Promise<Outcome<void>> {
    const begun = await this.#ask("push", this.#path("blobs/uploads/"), {
      method: "POST",
      headers: { "content-length": "0" },
    });
    if (begun.kind !== "done") return begun;
    if (begun.value.status !== 202 || !begun.value.headers.location) return this.#refused("pushed to", begun.value);
    const place = new URL(begun.value.headers.location, `${this.#origin}${this.#path("blobs/uploads/")}`);
    place.searchParams.set("digest", digest);
    const ask: FetchAsk = {
      method: "PUT",
      headers: { "content-type": "application/octet-stream" },
      body,
      deadlineMs: BLOB_MS,
    };
    const own = place.origin === this.#origin;
    const sent = own
      ? await this.#ask("push", `${place.pathname}${place.search}`, ask)
      : await this.#context.fetch(place.href, { ...ask, ...this.#ca() });
    if (sent.kind !== "done") return sent;
    return sent.value.status === 201 ? done(undefined) : this.#refused("pushed to", sent.value);
  }

  async putManifest(reference: string, { bytes, mediaType }: ManifestBytes): Promise<Outcome<void>> {
    const ask: FetchAsk = { method: "PUT", headers: { "content-type": mediaType }, body: bytes };
    const sent = await this.#ask("push", this.#path(`manifests/${reference}`), ask);
    if (sent.kind !== "done") return sent;
    return sent.value.status === 201 || sent.value.status === 200
      ? done(undefined)
      : this.#refused("pushed to", sent.value);
  }

  #path(rest: string): string {
    return `/v2/${this.#image.repository}/${rest}`;
  }

  #ca(): { caCertificate?: string } {
    return this.#login?.caCertificate === undefined ? {} : { caCertificate: this.#login.caCertificate };
  }

  async #ask(action: "pull" | "push", path: string, ask: FetchAsk): Promise<Outcome<FetchAnswer>> {
    const scope = `repository:${this.#image.repository}:${action === "push" ? "pull,push" : "pull"}`;
    return patiently(() => this.#try(scope, path, ask), this.#context.signal, 30_000);
  }

  async #try(scope: string, path: string, ask: FetchAsk): Promise<Outcome<FetchAnswer>> {
    for (let attempt = 0; ; attempt++) {
      const headers = { ...ask.headers, ...(this.#authorization ? { authorization: this.#authorization } : {}) };
      const answer = await this.#context.fetch(`${this.#origin}${path}`, { ...ask, headers, ...this.#ca() });
      if (answer.kind !== "done")
        return answer.kind === "again" ? again("RegistryUnreachable", answer.message) : answer;
      const { status } = answer.value;
      if (status === 429 || status >= 500)
        return again("RegistryFailed", `${this.#image.registry} answered ${status}${saidBy(answer.value)}`);
      if (status !== 401) return answer;
      if (attempt > 0) return refusedLogin(this.#image.registry, this.#login, answer.value);
      const authorization = await authorize(answer.value, {
        login: this.#login,
        scope,
        origin: this.#origin,
        context: this.#context,
      });
      if (authorization.kind !== "done") return authorization;
      this.#authorization = authorization.value;
    }
  }

  #refused(what: string, answer: FetchAnswer): Failure {
    const { registry, repository } = this.#image;
    const login = this.#login?.username === undefined ? "without a login" : `as ${this.#login.username}`;
    if (answer.status === 403)
      return stop("AccessDenied", `${registry}/${repository} may not be ${what} ${login}${saidBy(answer)}`);
    return stop(
      "RegistryFailed",
      `${registry}/${repository} could not be ${what}: it answered ${answer.status}${saidBy(answer)}`,
    );
  }
}

export interface Challenged {
  login: RegistryLogin | undefined;
  scope?: string;
  origin: string;
  context: TaskContext;
}

/** The header that a registry's challenge asks for: Basic, or Bearer with a token from the address that it names. */
export async function authorize(
  answer: FetchAnswer,
  { login, scope, origin, context }: Challenged,
): Promise<Outcome<string>> {
  const registry = new URL(origin).host;
  const challenge = answer.headers["www-authenticate"] ?? "";
  const basic =
    login?.username === undefined
      ? undefined
      : `Basic ${Buffer.from(`${login.username}:${login.password ?? ""}`).toString("base64")}`;
  if (/^basic\b/i.test(challenge) || /,\s*basic\b/i.test(challenge))
    return basic ? done(basic) : refusedLogin(registry, login, answer);
  const realm = /realm="([^"]+)"/i.exec(challenge)?.[1];
  if (!/^bearer\b/i.test(challenge) || realm === undefined || !URL.canParse(realm))
    return stop(
      "RegistryFailed",
      `${registry} asks for a login in a way that is not known: ${challenge.slice(0, 100) || "it does not say how"}`,
    );
  const url = new URL(realm);
  if (url.protocol !== "https:" && !(origin.startsWith("http:") && url.protocol === "http:"))
    return stop("RegistryFailed", `${registry} wants the login sent to ${url.origin} without TLS, which is not done`);
  const service = /service="([^"]*)"/i.exec(challenge)?.[1];
  if (service) url.searchParams.set("service", service);
  if (scope) url.searchParams.set("scope", scope);
  if (login?.username !== undefined) url.searchParams.set("account", login.username);
  const ca = login?.caCertificate === undefined ? {} : { caCertificate: login.caCertificate };
  const got = await context.fetch(url.href, { headers: basic ? { authorization: basic } : {}, ...ca });
  if (got.kind !== "done") return got;
  if (got.value.status === 401 || got.value.status === 403) return refusedLogin(registry, login, got.value);
  const token = tokenOf(got.value.body);
  if (got.value.status !== 200 || !token)
    return again("RegistryFailed", `${url.origin} gave no token for ${registry}: it answered ${got.value.status}`);
  context.mask(token);
  return done(`Bearer ${token}`);
}

export function refusedLogin(registry: string, login: RegistryLogin | undefined, answer: FetchAnswer): Failure {
  const why =
    login?.username === undefined
      ? `${registry} asks for a login: name it in \`registries\``
      : `${registry} rejects the login of ${login.username}: check user name and password`;
  return stop("LoginRefused", `${why}${saidBy(answer)}`);
}

/** What the registry itself says about an error, in brackets. */
export function saidBy({ body }: FetchAnswer): string {
  try {
    const { errors } = JSON.parse(body.toString("utf8")) as { errors?: { code?: unknown; message?: unknown }[] };
    const [first] = errors ?? [];
    return first ? ` (${String(first.message ?? first.code).slice(0, 300)})` : "";
  } catch {
    return "";
  }
}

function tokenOf(body: Buffer): string | undefined {
  try {
    const { token, access_token } = JSON.parse(body.toString("utf8")) as Record<string, unknown>;
    return [token, access_token].find((value): value is string => typeof value === "string" && value.length > 0);
  } catch {
    return undefined;
  }
}
