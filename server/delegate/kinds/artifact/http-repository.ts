import type { Schemas } from "../../../../openapi/client.ts";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { patiently } from "../../config/retry.ts";
import type { TaskContext } from "../../kind.ts";
import type { FetchAnswer, FetchAsk } from "../../task/fetch.ts";

type Access = Pick<Schemas["TaskParamsArtifactUpload"], "username" | "password" | "headers" | "caCertificate">;

const UPLOAD_MS = 3_600_000;
const MAX_TEXT = 1024 * 1024;

/** A repository that keeps files under their paths, as Nexus, Artifactory and any WebDAV do. A PUT again changes nothing, so it is repeated. */
export class HttpRepository {
  readonly #access: Access;
  readonly #context: TaskContext;

  constructor(access: Access, context: TaskContext) {
    this.#access = access;
    this.#context = context;
  }

  async put(
    url: string,
    body: NonNullable<FetchAsk["body"]>,
    headers: Record<string, string> = {},
  ): Promise<Outcome<void>> {
    const ask: FetchAsk = {
      method: "PUT",
      body,
      headers: { "content-type": "application/octet-stream", ...headers },
      deadlineMs: UPLOAD_MS,
    };
    const sent = await this.#ask(url, ask);
    if (sent.kind !== "done") return sent;
    return sent.value.status < 300 ? done(undefined) : refused(url, sent.value, this.#access);
  }

  /** A small text; undefined when there is none. */
  async get(url: string): Promise<Outcome<string | undefined>> {
    const got = await this.#ask(url, { maxBytes: MAX_TEXT, redirect: "sameHost" });
    if (got.kind !== "done") return got;
    if (got.value.status === 404 || got.value.status === 410) return done(undefined);
    return got.value.status === 200 ? done(got.value.body.toString("utf8")) : refused(url, got.value, this.#access);
  }

  #ask(url: string, ask: FetchAsk): Promise<Outcome<FetchAnswer>> {
    const { username, password, headers = {}, caCertificate } = this.#access;
    const login: Record<string, string> =
      username === undefined && password === undefined ? {} : { authorization: `Basic ${basic(username, password)}` };
    const all: FetchAsk = {
      ...ask,
      headers: { ...ask.headers, ...headers, ...login },
      ...(caCertificate === undefined ? {} : { caCertificate }),
    };
    return patiently(
      async () => {
        const answer = await this.#context.fetch(url, all);
        if (answer.kind === "again") return again("RepositoryUnreachable", answer.message);
        if (answer.kind !== "done") return answer;
        const { status } = answer.value;
        // 507: the disk is full, which does not pass by itself.
        return status === 429 || (status >= 500 && status !== 507)
          ? again("UploadFailed", `${place(url)} answered ${status}`)
          : answer;
      },
      this.#context.signal,
      60_000,
    );
  }
}

const basic = (username = "", password = "") => Buffer.from(`${username}:${password}`).toString("base64");
const place = (url: string) => url.replace(/[?#].*$/, "");

function refused(url: string, { status, body }: FetchAnswer, { username }: Access): Outcome<never> {
  const who = username === undefined ? "without a login" : `as ${username}`;
  if (status === 401)
    return stop(
      "LoginRefused",
      `${place(url)}: the repository rejects the login (${who}): check user name and password`,
    );
  if (status === 403) return stop("AccessDenied", `${place(url)}: the repository does not allow it ${who}`);
  if (status === 400 || status === 409)
    return stop(
      "UploadRefused",
      `${place(url)}: the repository answered ${status}; it may already have this file and not allow another${said(body)}`,
    );
  const hints: Record<number, string> = {
    404: "; there is no such repository",
    405: "; it takes no uploads there",
    413: "; the file is too large for it",
    507: "; its disk is full",
  };
  return stop("UploadRefused", `${place(url)}: it answered ${status}${hints[status] ?? ""}${said(body)}`);
}

const said = (body: Buffer) => {
  const text = body
    .toString("utf8")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 200);
  return text ? ` (${text})` : "";
};
