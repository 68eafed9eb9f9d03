import { createPublicKey, createVerify, generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface GithubApp {
  /** What `githubAppEnterpriseBaseUrl` is. */
  url: string;
  id: string;
  /** PEM, as GitHub hands it out. */
  privateKey: string;
  /** Owners it is installed for, and the number of each. */
  installations: Map<string, { kind: "orgs" | "users"; id: number; suspended?: boolean }>;
  /** Tokens that were given, newest last. */
  tokens: string[];
  /** How long a token lives from now on; GitHub's live an hour. */
  lifeMs: number;
  /** Called with each token. */
  onToken: (token: string) => void;
  requests: string[];
  stop(): Promise<void>;
}

/** GitHub's interface for apps as its documentation has it: every token of an app is checked, time and signature. Not GitHub. */
export async function startGithubApp(): Promise<GithubApp> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs1", format: "pem" }) as string;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? "").replace(/^\/api\/v3/, "");
    app.requests.push(`${request.method} ${path}`);
    const say = (status: number, body: object) =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (!isApp(request.headers.authorization, pem, app.id))
      return say(401, { message: "A JSON web token could not be decoded" });
    const [, kind, owner] = /^\/(orgs|users)\/([^/]+)\/installation$/.exec(path) ?? [];
    if (kind) {
      const found = app.installations.get(owner!);
      return found?.kind === kind ? say(200, { id: found.id }) : say(404, { message: "Not Found" });
    }
    const id = /^\/app\/installations\/(\d+)\/access_tokens$/.exec(path)?.[1];
    const found = [...app.installations.values()].find((one) => String(one.id) === id);
    if (request.method !== "POST" || !found) return say(404, { message: "Not Found" });
    if (found.suspended) return say(403, { message: "This installation has been suspended" });
    const token = `ghs_${randomUUID().replaceAll("-", "")}`;
    app.tokens.push(token);
    app.onToken(token);
    say(201, { token, expires_at: new Date(Date.now() + app.lifeMs).toISOString() });
  };
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const app: GithubApp = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3`,
    id: "4711",
    privateKey: pem,
    installations: new Map(),
    tokens: [],
    lifeMs: 3_600_000,
    onToken: () => {},
    requests: [],
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return app;
}

function isApp(authorization: string | undefined, pem: string, id: string): boolean {
  const [head = "", body = "", signature = ""] = (authorization ?? "").replace(/^Bearer /, "").split(".");
  if (
    !createVerify("RSA-SHA256")
      .update(`${head}.${body}`)
      .verify(createPublicKey(pem), Buffer.from(signature, "base64url"))
  )
    return false;
  const { alg } = JSON.parse(Buffer.from(head, "base64url").toString()) as { alg: string };
  const { iat, exp, iss } = JSON.parse(Buffer.from(body, "base64url").toString()) as {
    iat: number;
    exp: number;
    iss: string;
  };
  const now = Date.now() / 1_000;
  return alg === "RS256" && String(iss) === id && iat <= now && exp > now && exp - iat <= 600;
}
