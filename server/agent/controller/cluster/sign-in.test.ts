import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { type Aws, startAws } from "../../../../test/servers/aws.ts";
import { KubeClient } from "../../../kube/client.ts";
import { type SignIn, tokenOf } from "./sign-in.ts";

const ID = "AKIAAGENT";
const KEY = "a/secret+access/key+of/forty+characters01";
const ROLE = "arn:aws:iam::123456789012:role/deployer";
const folder = mkdtempSync(join(tmpdir(), "sign-in-"));
const before = { ...process.env };
let aws: Aws;
let api: Server;
let url: string;
/** The only name by which EKS knows the cluster. */
const CLUSTER = "prod";
/** Who asked, as STS says, or the token itself. */
const seen: string[] = [];
const accepted = new Set<string>();

beforeAll(async () => {
  aws = await startAws({
    users: { [ID]: { secretAccessKey: KEY } },
    roles: { [ROLE]: { webIdentity: "a.web.token" } },
  });
  // As EKS does: a caller whose address STS answers, signed for this cluster, is the identity that STS names.
  const who = async (token: string): Promise<string | undefined> => {
    if (!token.startsWith("k8s-aws-v1.")) return accepted.has(token) ? token : undefined;
    const signed = Buffer.from(token.slice("k8s-aws-v1.".length), "base64url").toString();
    if (!signed.startsWith(`${aws.url}/?Action=GetCallerIdentity&`)) return undefined;
    const answer = await fetch(signed, { headers: { "x-k8s-aws-id": CLUSTER } });
    return answer.status === 200 ? /<Arn>([^<]+)/.exec(await answer.text())?.[1] : undefined;
  };
  api = createServer((request, response) => {
    void who((request.headers.authorization ?? "").replace(/^Bearer /, "")).then((name) => {
      if (name) seen.push(name);
      response.writeHead(name ? 200 : 401, { "content-type": "application/json" });
      response.end(JSON.stringify(name ? { gitVersion: "v1.33.0" } : { kind: "Status", message: "Unauthorized" }));
    });
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
}, 60_000);
beforeEach(() => {
  seen.length = 0;
  accepted.clear();
  process.env.OUTPOST_CLOUD_ORIGINS = url;
});
afterAll(async () => {
  process.env = before;
  api.closeAllConnections();
  await Promise.all([aws.stop(), new Promise((resolve) => api.close(resolve))]);
  rmSync(folder, { recursive: true, force: true });
});

const own = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  AWS_REGION: "eu-central-1",
  AWS_ENDPOINT_URL_STS: aws.url,
  ...more,
});
const keys = () => own({ AWS_ACCESS_KEY_ID: ID, AWS_SECRET_ACCESS_KEY: KEY });

/** Asks the server for its version so often, and says what came of it. */
async function ask(config: SignIn, env: NodeJS.ProcessEnv, { server = url, times = 1 } = {}): Promise<string> {
  const client = new KubeClient({ server, namespace: "default", token: tokenOf(config, server, env) });
  try {
    const all = await Promise.all(Array.from({ length: times }, () => client.json("GET", "/version")));
    for (const one of all) if (one.kind !== "done") return `${one.reason}: ${one.message}`;
    return "done";
  } finally {
    await client.close();
  }
}

describe("a cluster of EKS", () => {
  const awsAuthConfig = { clusterName: CLUSTER };

  test("knows the agent by an address that it signed for this cluster, and STS is not asked by the agent", async () => {
    aws.requests.length = 0;
    expect(await ask({ awsAuthConfig }, keys(), { times: 5 })).toBe("done");
    expect(new Set(seen)).toEqual(new Set(["arn:aws:iam::123456789012:user/test"]));
    expect(new Set(aws.requests.map(({ action }) => action))).toEqual(new Set(["sts:GetCallerIdentity"]));
  });

  test("a role is assumed once for many requests, with the agent's keys or its web identity", async () => {
    const file = join(folder, "web");
    writeFileSync(file, "a.web.token\n");
    const web = own({ AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: ROLE });
    for (const [env, action] of [
      [keys(), "sts:AssumeRole"],
      [web, "sts:AssumeRoleWithWebIdentity"],
    ] as const) {
      seen.length = aws.requests.length = 0;
      const roleARN = env === web ? undefined : ROLE;
      expect(await ask({ awsAuthConfig: { ...awsAuthConfig, roleARN } }, env, { times: 5 })).toBe("done");
      expect(new Set(seen)).toEqual(new Set(["arn:aws:sts::123456789012:assumed-role/deployer/outpost-agent"]));
      expect(aws.requests.filter((one) => one.action === action)).toHaveLength(1);
    }
  });

  test("a profile of the agent's own configuration", async () => {
    const file = join(folder, "credentials");
    writeFileSync(file, `[deploy]\naws_access_key_id = ${ID}\naws_secret_access_key = ${KEY}\n`);
    process.env.AWS_SHARED_CREDENTIALS_FILE = file;
    process.env.AWS_CONFIG_FILE = join(folder, "none");
    expect(await ask({ awsAuthConfig: { ...awsAuthConfig, profile: "deploy" } }, own())).toBe("done");
    expect(await ask({ awsAuthConfig: { ...awsAuthConfig, profile: "other" } }, own())).toMatch(
      /^SignInFailed: AWS: the agent has no credentials/,
    );
  });

  test.each<[string, SignIn, () => NodeJS.ProcessEnv, RegExp]>([
    ["another cluster's token", { awsAuthConfig: { clusterName: "other" } }, keys, /^Unauthorized/],
    [
      "a role that nobody has",
      { awsAuthConfig: { clusterName: CLUSTER, roleARN: `${ROLE}-x` } },
      keys,
      /^SignInFailed: .*not authorized to perform: sts:AssumeRole/,
    ],
    ["keys that are wrong", { awsAuthConfig }, () => ({ ...keys(), AWS_SECRET_ACCESS_KEY: "canary" }), /^Unauthorized/],
    ["an agent without any", { awsAuthConfig }, own, /^SignInFailed: AWS: the agent has no credentials/],
    [
      "a name that is none",
      { awsAuthConfig: { clusterName: "a\nb" } },
      keys,
      /^SignInFailed: .*not a name of a cluster/,
    ],
    [
      "a server that nobody checks",
      { awsAuthConfig, tlsClientConfig: { insecure: true } },
      keys,
      /^SignInFailed: .*unchecked server/,
    ],
    ["a proxy of the Secret", { awsAuthConfig, proxyUrl: "http://127.0.0.1:9" }, keys, /^SignInFailed: .*no proxy/],
  ])("%s is told", async (_, config, env, want) => {
    const said = await ask(config, env());
    expect(said).toMatch(want);
    expect(said).not.toMatch(/canary|a\/secret/);
  });

  test("its token is shown to no server but EKS's", async () => {
    delete process.env.OUTPOST_CLOUD_ORIGINS;
    aws.requests.length = 0;
    for (const server of [
      url,
      "https://x.eks.amazonaws.com.evil.example",
      "http://x.eks.amazonaws.com",
      "https://x.eks.amazonaws.com:8443",
    ])
      expect(await ask({ awsAuthConfig }, keys(), { server })).toMatch(/^SignInFailed: .*not an address of EKS/);
    expect(aws.requests).toEqual([]);
  });
});

describe("a program that prints a token", () => {
  /** A plugin that counts its runs and prints what `script` says. */
  function plugin(name: string, script: string): { command: string; runs: () => number; env: NodeJS.ProcessEnv } {
    const command = join(folder, name);
    const count = join(folder, `${name}.runs`);
    writeFileSync(command, `#!/bin/sh\necho run >> "${count}"\n${script}\n`);
    chmodSync(command, 0o755);
    const runs = () => (existsSync(count) ? readFileSync(count, "utf8").trim().split("\n").length : 0);
    return { command, runs, env: own({ OUTPOST_EXEC_COMMANDS: `other, ${command}`, OUTPOST_SECRET: "canary" }) };
  }
  const prints = (status: object | string, apiVersion = "client.authentication.k8s.io/v1") =>
    `cat <<'EOF'\n${typeof status === "string" ? status : JSON.stringify({ kind: "ExecCredential", apiVersion, status })}\nEOF`;

  test("runs once for many requests, until shortly before its token ends", async () => {
    accepted.add("tok");
    const lasting = plugin(
      "lasting",
      prints({ token: "tok", expirationTimestamp: new Date(Date.now() + 3_600_000).toISOString() }),
    );
    expect(await ask({ execProviderConfig: { command: lasting.command } }, lasting.env, { times: 10 })).toBe("done");
    expect(lasting.runs()).toBe(1);
    const over = plugin(
      "over",
      prints({ token: "tok", expirationTimestamp: new Date(Date.now() - 1_000).toISOString() }),
    );
    const token = tokenOf({ execProviderConfig: { command: over.command } }, url, over.env)!;
    await token();
    await token();
    // A clock that is wrong must not mean a program for each request.
    expect(over.runs()).toBe(1);
    const later = Date.now() + 6_000;
    const clock = jest.spyOn(Date, "now").mockReturnValue(later);
    try {
      await token();
    } finally {
      clock.mockRestore();
    }
    expect(over.runs()).toBe(2);
  });

  test("is told what it is asked, gets its arguments and variables, and none of the agent's own", async () => {
    const shows = plugin(
      "shows",
      `printf '{"kind":"ExecCredential","apiVersion":"%s","status":{"token":"%s"}}' "$(echo "$KUBERNETES_EXEC_INFO" | sed 's/.*"apiVersion":"\\([^"]*\\)".*/\\1/')" "$1/$AWS_PROFILE/\${OUTPOST_SECRET:-none}"`,
    );
    accepted.add("--x;$(id)/deploy/none");
    const config = {
      command: shows.command,
      args: ["--x;$(id)"],
      env: { AWS_PROFILE: "deploy" },
      apiVersion: "client.authentication.k8s.io/v1beta1",
    };
    expect(await ask({ execProviderConfig: config }, shows.env)).toBe("done");
  });

  test.each<[string, string, Partial<NonNullable<SignIn["execProviderConfig"]>>, RegExp]>([
    ["what is not a credential", prints("canary"), {}, /^SignInFailed: .*did not print an ExecCredential/],
    ["no token", prints({}), {}, /^SignInFailed: .*printed no token/],
    [
      "a certificate",
      prints({ clientCertificateData: "canary" }),
      {},
      /^SignInFailed: .*a certificate, where a token is expected/,
    ],
    [
      "another version",
      prints({ token: "t" }, "client.authentication.k8s.io/v1beta1"),
      {},
      /^SignInFailed: .*instead of/,
    ],
    ["a token of two lines", prints({ token: "t\r\nx: y" }), {}, /^SignInFailed: .*printed no token/],
    ["too much", "head -c 2000000 /dev/zero", {}, /^SignInFailed: .*wrote more than 1000000 bytes/],
    ["a failure", "echo canary >&2; exit 3", {}, /^SignInFailed: .*failed with 3$/],
    [
      "a variable that is not allowed",
      prints({ token: "t" }),
      { env: { LD_PRELOAD: "canary" } },
      /^SignInFailed: .*may not be given "LD_PRELOAD"/,
    ],
    ["a version that is none", prints({ token: "t" }), { apiVersion: "v9" }, /^SignInFailed: .*v1 or v1beta1/],
  ])("%s is told, and nothing that it printed", async (what, script, more, want) => {
    const made = plugin(what.replace(/\W/g, ""), script);
    const said = await ask({ execProviderConfig: { command: made.command, ...more } }, made.env, { times: 3 });
    expect(said).toMatch(want);
    expect(said).not.toContain("canary");
    // Who fails is not asked again by each request that waits.
    expect(made.runs()).toBeLessThanOrEqual(1);
  });

  test("none runs unless the agent's operator allows it, and one that is missing says what to install", async () => {
    const made = plugin("forbidden", prints({ token: "t" }));
    expect(await ask({ execProviderConfig: { command: made.command } }, own())).toMatch(
      /^SignInFailed: .*OUTPOST_EXEC_COMMANDS/,
    );
    expect(made.runs()).toBe(0);
    const missing = { command: "no-such-plugin", installHint: "build an image with it" };
    const env = own({ OUTPOST_EXEC_COMMANDS: "no-such-plugin" });
    expect(await ask({ execProviderConfig: missing }, env)).toMatch(/not in the agent's image: build an image with it/);
  });

  test.each<[string, string, string, Partial<SignIn>, boolean]>([
    ["its origin", "https://a.example:6443", "https://a.example:6443", {}, true],
    ["its origin, as one writes it", "https://a.example/", "https://a.example:443/,https://b.example", {}, true],
    ["a glob", "https://a.clusters.example", "https://x.example, https://*.clusters.example", {}, true],
    [
      "a glob with the port that goes without saying",
      "https://a.clusters.example",
      "https://*.clusters.example:443",
      {},
      true,
    ],
    ["a glob with any port", "https://a.clusters.example", "https://*.clusters.example:*", {}, true],
    ["a glob with the other scheme's port", "https://a.clusters.example", "https://*.clusters.example:80", {}, false],
    ["a glob that ends as a port does", "https://a.example", "https://*43", {}, false],
    ["a glob without a port", "https://a.clusters.example:6443", "https://*.clusters.example", {}, false],
    ["another host", "https://a.example", "https://b.example", {}, false],
    ["another port", "https://a.example:8443", "https://a.example", {}, false],
    ["another scheme", "http://a.example", "https://*", {}, false],
    [
      "a name in the user's part or the path",
      "https://x.clusters.example@evil.test/.clusters.example",
      "https://*.clusters.example",
      {},
      false,
    ],
    ["a proxy of the Secret", "https://a.example", "https://a.example", { proxyUrl: "https://proxy.test" }, false],
    [
      "a server that nobody checks",
      "https://a.example",
      "https://a.example",
      { tlsClientConfig: { insecure: true } },
      false,
    ],
  ])("it runs only for the servers that the operator names: %s", async (what, server, origins, more, runs) => {
    const made = plugin(`origins${what.replace(/\W/g, "")}`, prints({ token: "tok" }));
    const token = tokenOf({ execProviderConfig: { command: made.command }, ...more }, server, {
      ...made.env,
      OUTPOST_EXEC_ORIGINS: origins,
    })!;
    const said = await token().then(
      (got) => got!.reveal(),
      (error: Error) => error.message,
    );
    expect(said).toMatch(runs ? /^tok$/ : /OUTPOST_EXEC_ORIGINS/);
    expect(made.runs()).toBe(runs ? 1 : 0);
  });
});
