import { EnvHttpProxyAgent, request } from "undici";
import { ADDRESS_REFUSED, guardedLookup, refusedFrom } from "../../../base/cloud/address.ts";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { REPO, type RepoAccess } from "../types.ts";
import { redactUrl } from "../url.ts";
import { authorizationOf } from "./authorization.ts";
import { tlsOf } from "./http-request.ts";

const DEADLINE_MS = 20_000;
const MAX_HOPS = 3;
const REFS = "/info/refs?service=git-upload-pack";

/**
 * Where a repository has moved to. Git itself would follow a redirect to any address: here each step is judged, and credentials stay with
 * the host that they were given for.
 */
export async function redirected(repo: RepoAccess): Promise<Outcome<RepoAccess>> {
  const shown = redactUrl(repo.url);
  const refuse = (why: string) => stop(REPO.urlRefused, `${shown} redirects ${why}`);
  const authorization = await authorizationOf(repo);
  if (authorization.kind !== "done") return authorization;
  const tls = tlsOf(repo);
  const refused = refusedFrom(new URL(repo.url).hostname);
  const connect = { timeout: 10_000, lookup: guardedLookup(refused, "it leads to a refused address"), ...tls };
  const proxy = repo.proxy ? { httpProxy: repo.proxy, httpsProxy: repo.proxy, noProxy: repo.noProxy ?? "" } : {};
  const dispatcher = new EnvHttpProxyAgent({
    connect,
    requestTls: tls,
    proxyTls: { lookup: connect.lookup },
    ...proxy,
  });
  try {
    const from = new URL(repo.url);
    let at = repo.url.replace(/(?<!\/)\/+$/, "") + REFS;
    for (let hops = 0; hops <= MAX_HOPS; hops++) {
      const signal = AbortSignal.timeout(DEADLINE_MS);
      const own = new URL(at).host === from.host && authorization.value !== undefined;
      const answer = await request(at, {
        dispatcher,
        signal,
        headers: { "user-agent": "git/2.0", ...(own ? { authorization: authorization.value } : {}) },
      });
      answer.body.on("error", () => {}).destroy();
      const { location } = answer.headers;
      if (![301, 302, 303, 307, 308].includes(answer.statusCode) || typeof location !== "string") {
        const url = at.slice(0, -REFS.length);
        const same = new URL(url).host === from.host;
        const { proxy, noProxy, ca, insecure, enableLfs, submodules, depth } = repo;
        return done(same ? { ...repo, url } : { url, proxy, noProxy, ca, insecure, enableLfs, submodules, depth });
      }
      const next = URL.canParse(location, at) ? new URL(location, at) : undefined;
      if (!next || !["https:", "http:"].includes(next.protocol)) return refuse("to what is not a web address");
      if (refused(next.hostname)) return refuse("to a refused address");
      if (new URL(at).protocol === "https:" && next.protocol === "http:") return refuse("from https to http");
      if (next.username || next.password || !next.href.endsWith(REFS))
        return refuse("to something else than a repository, such as a page to sign in");
      at = next.href;
    }
    return refuse(`more than ${MAX_HOPS} times`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === ADDRESS_REFUSED) return refuse("to a refused address");
    return again(REPO.unreachable, `${shown} redirects to what cannot be reached: ${code || message}`);
  } finally {
    void dispatcher.destroy();
  }
}
