import { createPublicKey, createVerify, generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * What Google and Microsoft say about signing in, on loopback: Google's token endpoint (OAuth's JWT bearer grant, RFC 7523), Microsoft's for
 * applications (client credentials, with a secret or with a federated token), and a registry as Azure's speaks. Every signature, time, scope
 * and grant is checked. Neither Google nor Microsoft.
 */
export interface Clouds {
  url: string;
  /** Without its scheme, as an image has it. */
  host: string;
  /** The file that Google gives for a service account; `change` replaces members. */
  keyFile(change?: Record<string, unknown>): string;
  tenant: string;
  client: string;
  secret: string;
  /** What a Pod's federated token file must hold. */
  federated: string;
  /** How long a token lives from now on. */
  lifeSeconds: number;
  /** Tokens by what they were given for: `google EMAIL`, `azure SCOPE`. */
  tokens: { what: string; token: string }[];
  /** Method and path of all that came. */
  requests: string[];
  /** The next answer of a token endpoint is this status. */
  fail: number | undefined;
  onToken(what: string, token: string): void;
  stop(): Promise<void>;
}

export const GOOGLE_EMAIL = "reader@project.iam.gserviceaccount.com";
const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const MAX_BODY = 64_000;

export async function startClouds(): Promise<Clouds> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `http://${host}`;
  const refresh = new Set<string>();
  const clouds: Clouds = {
    url,
    host,
    keyFile: (change = {}) =>
      JSON.stringify({
        type: "service_account",
        project_id: "project",
        private_key_id: "key-1",
        private_key: pem,
        client_email: GOOGLE_EMAIL,
        token_uri: `${url}/token`,
        ...change,
      }),
    tenant: "8f0e1c1e-0000-4000-8000-000000000001",
    client: "8f0e1c1e-0000-4000-8000-000000000002",
    secret: "a~secret.of/azure+8",
    federated: "the.federated.token",
    lifeSeconds: 3_600,
    tokens: [],
    requests: [],
    fail: undefined,
    onToken: () => {},
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", url).pathname;
    clouds.requests.push(`${request.method} ${path}`);
    const say = (status: number, body: object, headers: Record<string, string> = {}) =>
      void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
    if (request.method !== "POST") return registry(request, path, say);
    const form = await formOf(request);
    if (!form) return say(415, { error: "invalid_request" });
    if (clouds.fail !== undefined) {
      const status = clouds.fail;
      clouds.fail = undefined;
      return say(status, { error: "temporarily_unavailable" });
    }
    const give = (what: string, member = "access_token") => {
      const token = `tok.${randomUUID()}`;
      clouds.tokens.push({ what, token });
      clouds.onToken(what, token);
      say(200, { [member]: token, expires_in: clouds.lifeSeconds, token_type: "Bearer" });
    };
    if (path === "/token") {
      const fault = assertionFault(form, pem, `${url}/token`);
      return fault ? say(400, { error: "invalid_grant", error_description: fault }) : give(`google ${GOOGLE_EMAIL}`);
    }
    if (path === "/oauth2/exchange") {
      const known = clouds.tokens.some(
        ({ what, token }) => what.startsWith("azure https://management") && token === form.access_token,
      );
      if (form.grant_type !== "access_token" || form.service !== host || !known)
        return say(401, { errors: [{ code: "UNAUTHORIZED" }] });
      const token = `refresh.${randomUUID()}`;
      refresh.add(token);
      return say(200, { refresh_token: token });
    }
    if (path !== `/${clouds.tenant}/oauth2/v2.0/token`)
      return say(404, { error: "invalid_request", error_description: "no such tenant" });
    const fault = clientFault(form, clouds);
    return fault ? say(401, { error: "invalid_client", error_description: fault }) : give(`azure ${form.scope}`);
  }

  function registry(
    request: IncomingMessage,
    path: string,
    say: (status: number, body: object, headers?: Record<string, string>) => void,
  ) {
    const { authorization = "" } = request.headers;
    if (path === "/oauth2/token") {
      const [user, ...password] = Buffer.from(authorization.replace(/^Basic /, ""), "base64")
        .toString()
        .split(":");
      const good = user === "00000000-0000-0000-0000-000000000000" && refresh.has(password.join(":"));
      return good ? say(200, { access_token: "registry-access" }) : say(401, { errors: [{ code: "UNAUTHORIZED" }] });
    }
    if (!path.startsWith("/v2/")) return say(404, {});
    if (authorization !== "Bearer registry-access")
      return say(401, {}, { "www-authenticate": `Bearer realm="${url}/oauth2/token",service="${host}"` });
    return path.endsWith("/tags/list") ? say(200, { name: path.slice(4, -10), tags: ["1.0.0"] }) : say(200, {});
  }
  return clouds;
}

async function formOf(request: IncomingMessage): Promise<Record<string, string> | undefined> {
  let text = "";
  request.setEncoding("utf8");
  for await (const part of request) {
    text += part;
    if (text.length > MAX_BODY) throw new Error("too much");
  }
  const form = request.headers["content-type"] === "application/x-www-form-urlencoded";
  return form ? Object.fromEntries(new URLSearchParams(text)) : undefined;
}

function assertionFault(form: Record<string, string>, pem: string, audience: string): string | undefined {
  if (form.grant_type !== "urn:ietf:params:oauth:grant-type:jwt-bearer") return "wrong grant";
  const [head = "", body = "", signature = ""] = (form.assertion ?? "").split(".");
  const signed = createVerify("RSA-SHA256").update(`${head}.${body}`);
  if (!signed.verify(createPublicKey(pem), Buffer.from(signature, "base64url"))) return "Invalid JWT Signature.";
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
  const [{ alg, kid }, { iss, scope, aud, iat, exp }] = [read(head), read(body)];
  if (alg !== "RS256" || kid !== "key-1") return "wrong header";
  if (iss !== GOOGLE_EMAIL) return "Invalid grant: account not found";
  if (scope !== SCOPE || aud !== audience) return "wrong scope or audience";
  const now = Date.now() / 1_000;
  return Number(iat) <= now && Number(exp) > now && Number(exp) - Number(iat) <= 3_600 ? undefined : "wrong time";
}

function clientFault(form: Record<string, string>, { client, secret, federated }: Clouds): string | undefined {
  if (form.grant_type !== "client_credentials" || !form.scope?.endsWith("/.default"))
    return "AADSTS70003: unsupported grant";
  if (form.client_id !== client) return "AADSTS700016: Application not found in the directory";
  if (form.client_secret !== undefined)
    return form.client_secret === secret ? undefined : "AADSTS7000215: Invalid client secret provided.";
  const type = form.client_assertion_type === "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
  return type && form.client_assertion === federated
    ? undefined
    : "AADSTS700213: No matching federated identity record found";
}
