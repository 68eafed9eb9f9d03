import type { Readable, Writable } from "node:stream";
import { done, type Failure, type Outcome } from "../outcome.ts";
import { type Challenge, readChallenge } from "./challenge.ts";

/** The kinds of manifest: one artifact or image, and a list of them. */
export const MEDIA = {
  index: ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"],
  image: ["application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"],
};

export interface OciAsk {
  method?: "GET" | "HEAD" | "POST" | "PUT";
  headers?: Record<string, string>;
  body?: string | Buffer | { open(): Readable; size: number };
  /** Opens a file for the body of a 2xx; the answer's own is empty then. */
  to?: () => Promise<Writable>;
  maxBytes?: number;
  deadlineMs?: number;
}

export interface OciAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: Buffer;
}

/** One repository of a registry, and how its caller reaches it: with which bounds, proxy, certificates and login. */
export interface OciHost {
  /** `https://registry.example.com` */
  origin: string;
  repository: string;
  send(url: string, ask: OciAsk): Promise<Outcome<OciAnswer>>;
  /** The `authorization` that a challenge asks for. */
  signIn(asked: OciSignIn): Promise<Outcome<string>>;
  /** Why an answer ends the question; undefined if the method that asked reads it. */
  judge(answer: OciAnswer): Failure | undefined;
  /** Repeats what may succeed later. */
  patiently?<T>(attempt: () => Promise<Outcome<T>>): Promise<Outcome<T>>;
}

export interface OciSignIn {
  challenge: Challenge;
  /** What the token must be good for, such as `repository:team/app:pull`. */
  scope: string;
  answer: OciAnswer;
}

type Action = "pull" | "push";

/** The distribution API of OCI registries (version 2): paths, challenges and uploads. What an answer means is said by its caller. */
export class OciClient {
  readonly #host: OciHost;
  #authorization: string | undefined;

  constructor(host: OciHost) {
    this.#host = host;
  }

  /** Whether it is a registry, and lets us in. */
  ping(): Promise<Outcome<OciAnswer>> {
    return this.#ask("pull", "/v2/", { headers: { accept: "application/json" } });
  }

  /** A page of tags: those after `last`. */
  tags(last: string, maxBytes: number): Promise<Outcome<OciAnswer>> {
    const query = `n=1000${last && `&last=${encodeURIComponent(last)}`}`;
    return this.#ask("pull", this.#path(`tags/list?${query}`), { headers: { accept: "application/json" }, maxBytes });
  }

  manifest(reference: string, accept: readonly string[], maxBytes: number): Promise<Outcome<OciAnswer>> {
    const headers = { accept: accept.join(", ") };
    return this.#ask("pull", this.#path(`manifests/${reference}`), { headers, maxBytes });
  }

  blob(digest: string, ask: OciAsk): Promise<Outcome<OciAnswer>> {
    return this.#ask("pull", this.#path(`blobs/${digest}`), ask);
  }

  async hasBlob(digest: string): Promise<Outcome<boolean>> {
    const got = await this.#ask("push", this.#path(`blobs/${digest}`), { method: "HEAD" });
    if (got.kind !== "done") return got;
    // Storage elsewhere: the redirect says that it is there.
    return done(got.value.status === 200 || (got.value.status >= 300 && got.value.status < 400));
  }

  /** Uploads a blob in one piece. The answer is 201, or of the step that was refused. */
  async putBlob(
    digest: string,
    { body, deadlineMs }: Pick<OciAsk, "body" | "deadlineMs">,
  ): Promise<Outcome<OciAnswer>> {
    const uploads = this.#path("blobs/uploads/");
    const begun = await this.#ask("push", uploads, { method: "POST", headers: { "content-length": "0" } });
    if (begun.kind !== "done" || begun.value.status !== 202 || !begun.value.headers.location) return begun;
    const place = new URL(begun.value.headers.location, `${this.#host.origin}${uploads}`);
    place.searchParams.set("digest", digest);
    const ask: OciAsk = { method: "PUT", headers: { "content-type": "application/octet-stream" }, body, deadlineMs };
    // Storage elsewhere gets no login.
    return place.origin === this.#host.origin
      ? this.#ask("push", `${place.pathname}${place.search}`, ask)
      : this.#host.send(place.href, ask);
  }

  putManifest(reference: string, mediaType: string, bytes: Buffer): Promise<Outcome<OciAnswer>> {
    const headers = { "content-type": mediaType };
    return this.#ask("push", this.#path(`manifests/${reference}`), { method: "PUT", headers, body: bytes });
  }

  #path(rest: string): string {
    return `/v2/${this.#host.repository}/${rest}`;
  }

  #ask(action: Action, path: string, ask: OciAsk): Promise<Outcome<OciAnswer>> {
    const scope = `repository:${this.#host.repository}:${action === "push" ? "pull,push" : "pull"}`;
    const attempt = () => this.#try(scope, path, ask);
    return this.#host.patiently?.(attempt) ?? attempt();
  }

  /** A challenge is answered once: the second one means that the login is refused. */
  async #try(scope: string, path: string, ask: OciAsk): Promise<Outcome<OciAnswer>> {
    for (let attempt = 0; ; attempt++) {
      const headers = { ...ask.headers, ...(this.#authorization ? { authorization: this.#authorization } : {}) };
      const got = await this.#host.send(`${this.#host.origin}${path}`, { ...ask, headers });
      if (got.kind !== "done") return got;
      const answer = got.value;
      if (answer.status !== 401 || attempt > 0) return this.#host.judge(answer) ?? got;
      const challenge = readChallenge(answer.headers["www-authenticate"] ?? "");
      const authorization = await this.#host.signIn({ challenge, scope, answer });
      if (authorization.kind !== "done") return authorization;
      this.#authorization = authorization.value;
    }
  }
}
