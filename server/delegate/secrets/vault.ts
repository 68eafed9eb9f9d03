import { done, type Outcome } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";
import { type Credential, readCredential } from "./credential.ts";
import { at, Http, type HttpAnswer } from "./http.ts";
import { notFound, refused, type SecretSource, textOf, unavailable } from "./source.ts";

export type VaultAuth =
  | { token: Credential }
  | { kubernetes: { role: string; mount?: string; tokenFile?: string } }
  | { appRole: { roleId: string; secretId: Credential; mount?: string } };

export interface VaultConfig {
  address: string;
  namespace?: string | undefined;
  /** Version of the KV engine; asked for when it is not said, which needs a right on the mount. */
  kv?: 1 | 2 | undefined;
  caFile?: string | undefined;
  auth: VaultAuth;
}

interface Login {
  token: Secret;
  /** Milliseconds of validity; 0: for ever. */
  ttlMs: number;
  renewable: boolean;
  since: number;
}

interface Mount {
  path: string;
  version: 1 | 2;
}

/** Vault's own: at `auth/token/lookup-self` it gives the very token that the delegate has. */
const OWN_MOUNTS = ["auth", "sys", "identity", "cubbyhole"];

const POD_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/** `NAME/MOUNT/PATH#KEY`: the KV engine of HashiCorp Vault (or OpenBao), version 1 or 2, by its HTTP protocol. */
export class VaultSource implements SecretSource {
  readonly #config: VaultConfig;
  readonly #env: NodeJS.ProcessEnv;
  readonly #http: Http;
  readonly #mounts: Mount[] = [];
  #login: Promise<Outcome<Login>> | undefined;

  constructor(config: VaultConfig, env: NodeJS.ProcessEnv) {
    this.#config = config;
    this.#env = env;
    this.#http = new Http({ env, caFile: config.caFile });
  }

  async read(path: string, key: string | undefined, signal: AbortSignal): Promise<Outcome<string>> {
    if (key === undefined) return refused("an entry of Vault has several values: add #KEY");
    const parts = path.split("/");
    if (parts.length < 2 || parts.some((part) => part === "" || part === "." || part === ".."))
      return refused("a path is MOUNT/PATH, without . and ..");
    if (OWN_MOUNTS.includes(parts[0]!)) return refused(`${parts[0]} is Vault's own, and no KV engine`);
    const mount = await this.#mount(path, signal);
    if (mount.kind !== "done") return mount;
    const { path: below, version } = mount.value;
    const inner = path.slice(below.length);
    const answer = await this.#ask("GET", version === 2 ? `${below}data/${inner}` : path, signal);
    if (answer.kind !== "done") return answer;
    const { status, json } = answer.value;
    if (status === 404) return notFound(`Vault has nothing at ${path}`);
    if (status !== 200) return this.#failed(status, `read ${path}`);
    const data = version === 2 ? at(json, "data", "data") : at(json, "data");
    const value = at(data, key);
    return value === undefined ? notFound(`the entry ${path} has no key ${key}`) : textOf(value);
  }

  /** Which engine is mounted there, and where its own paths begin. */
  async #mount(path: string, signal: AbortSignal): Promise<Outcome<Mount>> {
    if (this.#config.kv) return done({ path: path.slice(0, path.indexOf("/") + 1), version: this.#config.kv });
    const known = this.#mounts.find((mount) => path.startsWith(mount.path));
    if (known) return done(known);
    const answer = await this.#ask("GET", `sys/internal/ui/mounts/${path}`, signal);
    if (answer.kind !== "done") return answer;
    const { status, json } = answer.value;
    if (status !== 200) return this.#failed(status, `see which engine has ${path}`);
    const found = at(json, "data", "path");
    if (typeof found !== "string" || !path.startsWith(found))
      return unavailable("Vault did not say which engine has this path");
    const mount: Mount = { path: found, version: at(json, "data", "options", "version") === "2" ? 2 : 1 };
    this.#mounts.push(mount);
    return done(mount);
  }

  /** With the token; once more with a new one when it is refused. */
  async #ask(method: "GET" | "POST", path: string, signal: AbortSignal): Promise<Outcome<HttpAnswer>> {
    for (let attempt = 0; ; attempt++) {
      const login = await this.#current(signal);
      if (login.kind !== "done") return login;
      const answer = await this.#send(method, path, { token: login.value.token, signal });
      if (answer.kind !== "done" || answer.value.status !== 403 || attempt > 0) return answer;
      this.#login = undefined;
    }
  }

  /** The login as it is, renewed when half of its time is over, or a new one. */
  async #current(signal: AbortSignal): Promise<Outcome<Login>> {
    this.#login ??= this.#enter(signal);
    const login = await this.#login;
    if (login.kind !== "done") {
      this.#login = undefined;
      return login;
    }
    const { token, ttlMs, renewable, since } = login.value;
    const age = performance.now() - since;
    if (ttlMs === 0 || age < ttlMs / 2) return login;
    this.#login = (async () => {
      if (!renewable || age >= ttlMs) return this.#enter(signal);
      const renewed = await this.#send("POST", "auth/token/renew-self", { token, body: {}, signal });
      const again =
        renewed.kind === "done" && renewed.value.status === 200 ? loginOf(at(renewed.value.json, "auth")) : undefined;
      return again ? done(again) : this.#enter(signal);
    })();
    return this.#current(signal);
  }

  async #enter(signal: AbortSignal): Promise<Outcome<Login>> {
    const { auth } = this.#config;
    if ("token" in auth) {
      const token = await readCredential(auth.token, this.#env);
      if (token.kind !== "done") return token;
      const answer = await this.#send("GET", "auth/token/lookup-self", { token: token.value, signal });
      if (answer.kind !== "done") return answer;
      if (answer.value.status !== 200) return this.#failed(answer.value.status, "use its token");
      const { json } = answer.value;
      return done(lifeOf(token.value, at(json, "data", "ttl"), at(json, "data", "renewable")));
    }
    const [mount, body] =
      "kubernetes" in auth
        ? [auth.kubernetes.mount ?? "kubernetes", await this.#jwt(auth.kubernetes)]
        : [auth.appRole.mount ?? "approle", await this.#role(auth.appRole)];
    if (body.kind !== "done") return body;
    const answer = await this.#send("POST", `auth/${mount}/login`, { body: body.value, signal });
    if (answer.kind !== "done") return answer;
    const { status, json } = answer.value;
    const login = status === 200 ? loginOf(at(json, "auth")) : undefined;
    return login ? done(login) : this.#failed(status === 400 ? 403 : status, `log in at auth/${mount}`);
  }

  async #jwt({ role, tokenFile }: { role: string; tokenFile?: string }): Promise<Outcome<object>> {
    const jwt = await readCredential({ file: tokenFile ?? POD_TOKEN }, this.#env);
    return jwt.kind === "done" ? done({ role, jwt: jwt.value.reveal() }) : jwt;
  }

  async #role({ roleId, secretId }: { roleId: string; secretId: Credential }): Promise<Outcome<object>> {
    const secret = await readCredential(secretId, this.#env);
    return secret.kind === "done" ? done({ role_id: roleId, secret_id: secret.value.reveal() }) : secret;
  }

  #send(
    method: "GET" | "POST",
    path: string,
    { token, body, signal }: { token?: Secret; body?: unknown; signal: AbortSignal },
  ): Promise<Outcome<HttpAnswer>> {
    const { address, namespace } = this.#config;
    const headers = {
      "x-vault-request": "true",
      ...(namespace ? { "x-vault-namespace": namespace } : {}),
      ...(token ? { "x-vault-token": token.reveal() } : {}),
    };
    const url = `${address.replace(/\/+$/, "")}/v1/${path.split("/").map(encodeURIComponent).join("/")}`;
    return this.#http.ask(method, url, { headers, body, signal });
  }

  #failed(status: number, what: string) {
    if (status === 403) return refused(`Vault does not let the delegate ${what}`);
    if (status >= 300 && status < 400)
      return refused("Vault redirects elsewhere: give the source the address of the active node");
    if (status === 503) return unavailable("Vault is sealed");
    return status === 429 || status >= 470
      ? unavailable(`Vault answered ${status}`)
      : refused(`Vault answered ${status}`);
  }
}

function loginOf(auth: unknown): Login | undefined {
  const token = at(auth, "client_token");
  if (typeof token !== "string" || token === "") return undefined;
  return lifeOf(new Secret(token), at(auth, "lease_duration"), at(auth, "renewable"));
}

const lifeOf = (token: Secret, seconds: unknown, renewable: unknown): Login => ({
  token,
  ttlMs: typeof seconds === "number" ? seconds * 1_000 : 0,
  renewable: renewable === true,
  since: performance.now(),
});
