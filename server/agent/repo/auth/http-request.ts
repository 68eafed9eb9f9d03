import { type Dispatcher, EnvHttpProxyAgent, request } from "undici";
import { ADDRESS_REFUSED, guardedLookup, refusedFrom } from "../../../base/cloud/address.ts";
import { again, done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { REPO, type RepoAccess } from "../types.ts";

const DEADLINE_MS = 30_000;
const MAX_HOPS = 3;

export interface Question {
  method?: "GET" | "POST";
  /** Like `authorization`, for the first place alone, and for no other that a redirect may lead to. */
  headers?: Record<string, string>;
  body?: string;
  authorization?: string;
  maxBytes: number;
  deadlineMs?: number;
  /** How the place is called in a message. */
  shown: string;
}

export interface HttpAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** One bounded question over HTTP, with a repository's own proxy, authorities and client certificate. Every step of a redirect is judged. */
export async function ask(to: string, repo: RepoAccess, question: Question): Promise<Outcome<HttpAnswer>> {
  const { shown } = question;
  let url = URL.canParse(to) ? new URL(to) : undefined;
  const refused = refusedFrom(url?.hostname ?? "");
  const safe = ({ protocol, hostname, username, password }: URL): boolean =>
    ["https:", "http:"].includes(protocol) && !username && !password && !refused(hostname);
  if (!url || !safe(url)) return stop(REPO.urlRefused, `${shown} is at a refused address`);
  const own = url.origin;
  const tls = tlsOf(repo);
  const connect = { timeout: 10_000, lookup: guardedLookup(refused, "it leads to a refused address"), ...tls };
  const proxy = repo.proxy ? { httpProxy: repo.proxy, httpsProxy: repo.proxy, noProxy: repo.noProxy ?? "" } : {};
  const dispatcher = new EnvHttpProxyAgent({
    connect,
    requestTls: tls,
    proxyTls: { lookup: connect.lookup },
    ...proxy,
  });
  const deadline = AbortSignal.timeout(question.deadlineMs ?? DEADLINE_MS);
  try {
    for (let hops = 0; ; hops++) {
      const { method = "GET", body, authorization } = question;
      const headers: Record<string, string> =
        url.origin === own ? { ...question.headers, ...(authorization ? { authorization } : {}) } : {};
      const answer: Dispatcher.ResponseData = await request(url, {
        dispatcher,
        method,
        headers,
        body,
        signal: deadline,
      });
      const { location } = answer.headers;
      if ([301, 302, 303, 307, 308].includes(answer.statusCode) && typeof location === "string") {
        answer.body.on("error", () => {}).destroy();
        const next: URL | undefined = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
        if (
          method !== "GET" ||
          hops >= MAX_HOPS ||
          !next ||
          !safe(next) ||
          (url.protocol === "https:" && next.protocol !== "https:")
        )
          return stop(REPO.urlRefused, `${shown} redirects to a refused address`);
        url = next;
        continue;
      }
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > question.maxBytes) return stop(REPO.tooLarge, `${shown} sent more than ${question.maxBytes} bytes`);
        chunks.push(chunk);
      }
      return done({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) });
    }
  } catch (error) {
    return unreachable(error, shown);
  } finally {
    void dispatcher.destroy();
  }
}

/** What TLS needs of a repository. */
export const tlsOf = (repo: RepoAccess) => ({
  ...(repo.ca ? { ca: repo.ca } : {}),
  ...(repo.tlsClientCertData && repo.tlsClientCertKey
    ? { cert: repo.tlsClientCertData, key: repo.tlsClientCertKey.reveal() }
    : {}),
  rejectUnauthorized: !repo.insecure,
});

/** Which layer failed: each has a constant of its own and says what to do. */
export function unreachable(error: unknown, shown: string): Failure {
  const { code = "", message, cause } = error as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException };
  const all = `${code} ${cause?.code ?? ""} ${message}`;
  if (all.includes(ADDRESS_REFUSED)) return stop(REPO.urlRefused, `${shown} leads to a refused address`);
  if (/ENOTFOUND|EAI_AGAIN|EAI_NODATA/.test(all))
    return again(REPO.host, `the host of ${shown} has no address; look at its spelling and at DNS`);
  if (/ECONNREFUSED/.test(all)) return again(REPO.connection, `nothing listens at ${shown}; look at its port`);
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|certificate|SSL|EPROTO/i.test(all))
    return again(
      REPO.certificate,
      `TLS with ${shown} failed: ${code || message}; add its CA to argocd-tls-certs-cm, or give a client certificate`,
    );
  return again(REPO.unreachable, `${shown} cannot be reached: ${code || message}`);
}

/** What an answer without success means; undefined for one with it. */
export function refusal({ status }: HttpAnswer, shown: string, signedIn: boolean): Failure | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 401 || status === 403)
    return stop(
      REPO.authentication,
      signedIn
        ? `${shown} does not accept the credentials given for it`
        : `${shown} asks for credentials and none are given for it`,
    );
  if (status === 404)
    return stop(REPO.notFound, `there is nothing at ${shown}, or its credentials do not allow to see it`);
  return again(REPO.unreachable, `${shown} answered ${status}`);
}
