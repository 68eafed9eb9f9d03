import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { patiently } from "../../config/retry.ts";
import type { TaskContext } from "../../kind.ts";
import { authorize, refusedLogin } from "./registry-client.ts";
import type { RegistryLogin } from "./registry-logins.ts";

/** Asks a registry with a login, the way clients do before each push. An open registry proves nothing, and is reported as open. */
export async function proveLogin(login: RegistryLogin, context: TaskContext): Promise<Outcome<void>> {
  const registry = login.registry.split("/")[0]!;
  const host = registry === "docker.io" || registry === "index.docker.io" ? "registry-1.docker.io" : registry;
  const origin = `${login.plainHttp ? "http" : "https"}://${host}`;
  const ca = login.caCertificate === undefined ? {} : { caCertificate: login.caCertificate };
  const ask = (headers: Record<string, string>) => context.fetch(`${origin}/v2/`, { headers, ...ca });
  return patiently(
    async () => {
      const first = await ask({});
      if (first.kind === "again") return again("RegistryUnreachable", first.message);
      if (first.kind !== "done") return first;
      if (first.value.status === 200)
        return stop("LoginNotAsked", `${registry} needs no login, so this login cannot be checked`);
      if (first.value.status === 429 || first.value.status >= 500)
        return again("RegistryFailed", `${registry} answered ${first.value.status}`);
      if (first.value.status !== 401)
        return stop("NoRegistry", `${registry} is not a registry: it answered ${first.value.status} to /v2/`);
      const authorization = await authorize({ answer: first.value }, { login, origin, context });
      if (authorization.kind !== "done") return authorization;
      const second = await ask({ authorization: authorization.value });
      if (second.kind !== "done") return second;
      if (second.value.status === 200) return done(undefined);
      if (second.value.status === 401 || second.value.status === 403)
        return refusedLogin(registry, login, second.value);
      return again("RegistryFailed", `${registry} answered ${second.value.status}`);
    },
    context.signal,
    30_000,
  );
}
