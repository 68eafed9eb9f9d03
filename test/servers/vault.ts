import { randomBytes } from "node:crypto";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { fetch } from "undici";
import { buildTools } from "../cluster/tools.ts";
import { daemon, ready } from "./run.ts";

/**
 * A real Vault in development mode on loopback: in memory, unsealed, KV version 2 at `secret/` and version 1 at `kv1/`,
 * with the ways in of AppRole, Kubernetes and user names. Before it stands a recorder, which can also fail requests.
 *
 *   const vault = await startVault();
 *   await vault.put("secret/team/db", { password: "hunter2" });
 *   await vault.policy("reader", { "secret/data/team/*": ["read"] });
 *   const { roleId, secretId } = await vault.appRole("delegate", ["reader"]);
 *
 * It is the community edition: `X-Vault-Namespace` is recorded and has no other effect.
 */
export interface Vault {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** The root token. */
  readonly token: string;
  /** Every request but the helpers' own, in order. */
  readonly requests: VaultRequest[];
  /** Asks `/v1` + path as root, or with another `token`; undefined where it answers nothing. A refusal is an error with its status. */
  // biome-ignore lint/suspicious/noExplicitAny: Vault's own documents.
  api(method: string, path: string, body?: unknown, token?: string): Promise<any>;
  /** Writes a secret by mount and path: `secret/…` (version 2) or `kv1/…` (version 1). */
  put(path: string, data: Record<string, unknown>): Promise<void>;
  /** Path of the API → capabilities. */
  policy(name: string, paths: Record<string, string[]>): Promise<void>;
  createToken(options: { policies: string[]; ttl?: string; uses?: number; renewable?: boolean }): Promise<string>;
  /** A role of auth/approle and one of its secret ids. */
  appRole(
    name: string,
    policies: string[],
    options?: { ttl?: string; secretIdUses?: number },
  ): Promise<{ roleId: string; secretId: string }>;
  /** Lets service accounts of a cluster in at auth/MOUNT; each must be allowed to review tokens (system:auth-delegator). */
  kubernetes(options: {
    host: string;
    ca: string;
    mount?: string;
    roles: Record<string, KubernetesRole>;
  }): Promise<void>;
  /** The next `times` requests whose path starts so are answered with this status and errors, in Vault's form. */
  fail(path: string, fault: { status: number; errors?: string[]; times?: number }): void;
  /** Seals it: from now on it answers 503. */
  seal(): Promise<void>;
  stop(): Promise<void>;
}

export interface VaultRequest {
  method: string;
  path: string;
  namespace?: string;
  token?: string;
  status: number;
}

export interface KubernetesRole {
  namespace: string;
  serviceAccount: string;
  policies: string[];
  audience?: string;
  ttl?: string;
}

export interface VaultOptions {
  /** The program; default: built once from `test/cluster/tools-on-demand`. */
  program?: string;
}

export async function startVault({ program }: VaultOptions = {}): Promise<Vault> {
  program ??= (await buildTools(() => {}, ["vault"])).vault!;
  const token = `root-${randomBytes(12).toString("hex")}`;
  const server = daemon(program, ["-listen", "127.0.0.1:0", "-token", token], { env: { PATH: process.env.PATH } });
  let inner = "";
  await ready(
    "vault",
    server,
    async () => {
      inner = /listening on (127\.0\.0\.1:\d+)/.exec(server.said())?.[1] ?? "";
      return inner !== "";
    },
    30_000,
  );
  const recorder = await record(inner);
  const api: Vault["api"] = async (method, path, body, as = token) => {
    const answer = await fetch(`http://${inner}/v1${path}`, {
      method,
      headers: { "x-vault-token": as },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  };
  await api("POST", "/sys/mounts/kv1", { type: "kv", options: { version: "1" } });
  await api("POST", "/sys/auth/approle", { type: "approle" });
  await api("POST", "/sys/auth/userpass", { type: "userpass" });
  return {
    url: recorder.url,
    token,
    requests: recorder.requests,
    api,
    put: async (path, data) => {
      const [mount, ...rest] = path.split("/");
      await (mount === "kv1"
        ? api("POST", `/${path}`, data)
        : api("POST", `/${mount}/data/${rest.join("/")}`, { data }));
    },
    policy: async (name, paths) => {
      const rules = Object.entries(paths).map(
        ([path, capabilities]) => `path ${JSON.stringify(path)} { capabilities = ${JSON.stringify(capabilities)} }`,
      );
      await api("PUT", `/sys/policies/acl/${name}`, { policy: rules.join("\n") });
    },
    createToken: async ({ policies, ttl = "1h", uses = 0, renewable = true }) =>
      (await api("POST", "/auth/token/create", { policies, ttl, num_uses: uses, renewable })).auth.client_token,
    appRole: async (name, policies, { ttl = "1h", secretIdUses = 0 } = {}) => {
      await api("POST", `/auth/approle/role/${name}`, {
        token_policies: policies,
        token_ttl: ttl,
        secret_id_num_uses: secretIdUses,
      });
      const { data } = await api("GET", `/auth/approle/role/${name}/role-id`);
      return {
        roleId: data.role_id,
        secretId: (await api("POST", `/auth/approle/role/${name}/secret-id`)).data.secret_id,
      };
    },
    kubernetes: async ({ host, ca, mount = "kubernetes", roles }) => {
      await api("POST", `/sys/auth/${mount}`, { type: "kubernetes" });
      // Without a reviewer's token it shows the cluster each client's own.
      await api("POST", `/auth/${mount}/config`, {
        kubernetes_host: host,
        kubernetes_ca_cert: ca,
        disable_local_ca_jwt: true,
      });
      for (const [name, { namespace, serviceAccount, policies, audience, ttl = "1h" }] of Object.entries(roles)) {
        const bound = { bound_service_account_names: [serviceAccount], bound_service_account_namespaces: [namespace] };
        await api("POST", `/auth/${mount}/role/${name}`, {
          ...bound,
          token_policies: policies,
          token_ttl: ttl,
          ...(audience ? { audience } : {}),
        });
      }
    },
    fail: recorder.fail,
    seal: () => api("PUT", "/sys/seal"),
    stop: async () => {
      await recorder.stop();
      await server.stop("SIGKILL");
    },
  };
}

/** Stands before it, so that a test sees which headers came, and can make it fail. */
async function record(inner: string) {
  const requests: VaultRequest[] = [];
  const faults: { path: string; status: number; errors: string[]; times: number }[] = [];
  const header = (request: IncomingMessage, name: string) => [request.headers[name]].flat()[0];
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? "/";
    const [namespace, token] = [header(request, "x-vault-namespace"), header(request, "x-vault-token")];
    const note = (status: number) =>
      void requests.push({
        method: request.method ?? "",
        path,
        status,
        ...(namespace ? { namespace } : {}),
        ...(token ? { token } : {}),
      });
    const fault = faults.find((f) => path.startsWith(f.path) && f.times-- > 0);
    if (fault) {
      note(fault.status);
      request.resume();
      response
        .writeHead(fault.status, { "content-type": "application/json" })
        .end(JSON.stringify({ errors: fault.errors }));
      return;
    }
    const [host, port] = inner.split(":");
    const onward = httpRequest(
      { host, port, path, method: request.method, headers: { ...request.headers, host: inner } },
      (answer) => {
        note(answer.statusCode ?? 0);
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  };
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    requests,
    fail: (path: string, { status, errors = [], times = 1 }: { status: number; errors?: string[]; times?: number }) =>
      void faults.push({ path, status, errors, times }),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
