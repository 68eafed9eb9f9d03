import { readJson } from "../../../base/json/nesting.ts";
import { basicLogin, type Challenge, readChallenge, tokenOf } from "../../../base/oci/challenge.ts";
import { MEDIA, OciClient } from "../../../base/oci/client.ts";
import { again, done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { patiently } from "../../config/retry.ts";
import type { TaskContext } from "../../kind.ts";
import type { FetchAnswer, FetchAsk } from "../../task/fetch.ts";
import { type ImageName, placeOf } from "./image-ref.ts";
import { loginOf, type RegistryLogin } from "./registry-logins.ts";

const ACCEPT = [...MEDIA.image, ...MEDIA.index];

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
  readonly #client: OciClient;

  constructor(image: ImageName, logins: readonly RegistryLogin[], context: TaskContext) {
    this.#image = image;
    this.#context = context;
    this.#login = loginOf(placeOf(image), logins);
    this.#origin = `${this.#login?.plainHttp ? "http" : "https"}://${image.host}`;
    const host = { login: this.#login, origin: this.#origin, context };
    this.#client = new OciClient({
      origin: this.#origin,
      repository: image.repository,
      send: async (url, ask) => {
        const got = await context.fetch(url, { ...ask, ...this.#ca() });
        return got.kind === "again" ? again("RegistryUnreachable", got.message) : got;
      },
      signIn: ({ challenge, scope, answer }) => authorize({ challenge, answer, scope }, host),
      judge: (answer) => this.#judge(answer),
      patiently: (attempt) => patiently(attempt, context.signal, 30_000),
    });
  }

  /** The bytes of a manifest or index; undefined when there is none. */
  async manifest(reference: string): Promise<Outcome<ManifestBytes | undefined>> {
    const got = await this.#client.manifest(reference, ACCEPT, MAX_MANIFEST);
    if (got.kind !== "done") return got;
    if (got.value.status === 404) return done(undefined);
    if (got.value.status !== 200) return this.#refused("read", got.value);
    return done({ bytes: got.value.body, mediaType: got.value.headers["content-type"]?.split(";")[0]?.trim() ?? "" });
  }

  hasBlob(digest: string): Promise<Outcome<boolean>> {
    return this.#client.hasBlob(digest);
  }

  /** Saves a blob in a file; its digest is compared before it is used. */
  async saveBlob(digest: string, to: NonNullable<FetchAsk["to"]>): Promise<Outcome<void>> {
    const got = await this.#client.blob(digest, { to, maxBytes: MAX_BLOB, deadlineMs: BLOB_MS });
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
    const sent = await this.#client.putBlob(digest, { body, deadlineMs: BLOB_MS });
    if (sent.kind !== "done") return sent;
    return sent.value.status === 201 ? done(undefined) : this.#refused("pushed to", sent.value);
  }

  async putManifest(reference: string, { bytes, mediaType }: ManifestBytes): Promise<Outcome<void>> {
    const sent = await this.#client.putManifest(reference, mediaType, bytes);
    if (sent.kind !== "done") return sent;
    return sent.value.status === 201 || sent.value.status === 200
      ? done(undefined)
      : this.#refused("pushed to", sent.value);
  }

  #ca(): { caCertificate?: string } {
    return this.#login?.caCertificate === undefined ? {} : { caCertificate: this.#login.caCertificate };
  }

  #judge(answer: FetchAnswer): Failure | undefined {
    const { status } = answer;
    if (status === 429 || status >= 500)
      return again("RegistryFailed", `${this.#image.registry} answered ${status}${saidBy(answer)}`);
    return status === 401 ? refusedLogin(this.#image.registry, this.#login, answer) : undefined;
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
  answer: FetchAnswer;
  challenge?: Challenge;
  scope?: string;
}

export interface ChallengedBy {
  login: RegistryLogin | undefined;
  origin: string;
  context: TaskContext;
}

/** The header that a registry's challenge asks for: Basic, or Bearer with a token from the address that it names. */
export async function authorize(
  { answer, scope, challenge = readChallenge(answer.headers["www-authenticate"] ?? "") }: Challenged,
  { login, origin, context }: ChallengedBy,
): Promise<Outcome<string>> {
  const registry = new URL(origin).host;
  const basic = login?.username === undefined ? undefined : basicLogin(login.username, login.password ?? "");
  if (challenge.basic) return basic ? done(basic) : refusedLogin(registry, login, answer);
  const { bearer, realm = "", service, text } = challenge;
  if (!bearer || !URL.canParse(realm))
    return stop(
      "RegistryFailed",
      `${registry} asks for a login in a way that is not known: ${text.slice(0, 100) || "it does not say how"}`,
    );
  const url = new URL(realm);
  if (url.protocol !== "https:" && !(origin.startsWith("http:") && url.protocol === "http:"))
    return stop("RegistryFailed", `${registry} wants the login sent to ${url.origin} without TLS, which is not done`);
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
    const { errors } = readJson(body.toString("utf8")) as { errors?: { code?: unknown; message?: unknown }[] };
    const [first] = errors ?? [];
    return first ? ` (${String(first.message ?? first.code).slice(0, 300)})` : "";
  } catch {
    return "";
  }
}
