import { createHash, createHmac } from "node:crypto";
import { ECRClient, GetAuthorizationTokenCommand } from "@aws-sdk/client-ecr";
import {
  DescribeServicesCommand,
  DescribeTaskDefinitionCommand,
  ECSClient,
  RegisterTaskDefinitionCommand,
  UpdateServiceCommand,
} from "@aws-sdk/client-ecs";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import {
  AssumeRoleCommand,
  AssumeRoleWithWebIdentityCommand,
  GetCallerIdentityCommand,
  STSClient,
} from "@aws-sdk/client-sts";
import { fetch } from "undici";
import { canonical, verify } from "./aws/sigv4.ts";
import { type Aws, type AwsOptions, startAws } from "./aws.ts";
import { until } from "./run.ts";

const region = "eu-central-1";
const role = "arn:aws:iam::123456789012:role/team/deployer";
const user = { accessKeyId: "AKIATEST", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };

let aws: Aws | undefined;
const start = async (options: AwsOptions = {}) => {
  aws = await startAws({ users: { AKIATEST: { secretAccessKey: user.secretAccessKey } }, ...options });
  return aws;
};
afterEach(async () => {
  await aws?.stop();
  aws = undefined;
});
const at = (
  server: Aws,
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } = user,
) => ({
  endpoint: server.url,
  region,
  credentials,
  maxAttempts: 1,
});

describe("Signature Version 4", () => {
  // The example of AWS's documentation: "Examples of the complete Signature Version 4 signing process".
  const request = {
    method: "GET",
    target: "/?Action=ListUsers&Version=2010-05-08",
    headers: {
      host: "iam.amazonaws.com",
      "content-type": "application/x-www-form-urlencoded; charset=utf-8",
      "x-amz-date": "20150830T123600Z",
      authorization:
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, " +
        "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
    },
    body: Buffer.alloc(0),
  };
  const key = { secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
  const then = Date.UTC(2015, 7, 30, 12, 36);

  test("the documentation's example is right", () => {
    expect(verify(request, () => key, then)).toEqual({
      accessKeyId: "AKIDEXAMPLE",
      region: "us-east-1",
      service: "iam",
    });
  });
  test.each([
    ["another method", { method: "POST" }, "wrong signature"],
    ["another query", { target: "/?Action=ListUsers&Version=2010-05-09" }, "wrong signature"],
    ["another body", { body: Buffer.from("x") }, "wrong signature"],
    ["another host", { headers: { ...request.headers, host: "evil" } }, "wrong signature"],
    ["a header that nobody signed", { headers: { ...request.headers, "x-amz-target": "a" } }, "malformed"],
    ["a token that the key has not", { headers: { ...request.headers, "x-amz-security-token": "t" } }, "wrong token"],
    ["no signature", { headers: {} }, "missing"],
    ["basic authentication", { headers: { authorization: "Basic eDp5" } }, "malformed"],
  ])("%s is refused", (_, change, want) =>
    expect(verify({ ...request, ...change }, () => key, then)).toMatchObject({ refused: want }),
  );

  test.each([
    ["16 minutes late", 16, "skewed"],
    ["14 minutes late", 14, undefined],
    ["14 minutes early", -14, undefined],
    ["16 minutes early", -16, "skewed"],
  ])("a clock %s", (_, minutes, want) => {
    const verdict = verify(request, () => key, then + minutes * 60_000);
    expect("refused" in verdict ? verdict.refused : undefined).toBe(want);
  });

  test.each([
    ["/a b/%20", "b=2&a=x%20y&a=%2F", "/a%20b/%2520\na=%2F&a=x%20y&b=2"],
    ["/", "", "/\n"],
    ["/é*", "q=(1)", "/%C3%A9%2A\nq=%281%29"],
  ])("the canonical form of %s?%s", (path, query, want) => {
    expect(canonical({ method: "GET", target: `${path}?${query}` }, ["host"], () => "  h   i ", "HASH")).toBe(
      `GET\n${want}\nhost:h i\n\nhost\nHASH`,
    );
  });
});

describe("requests of AWS's own clients", () => {
  test("who asks is told; a wrong secret, an unknown key and a wrong clock are refused", async () => {
    const server = await start();
    const ask = (more: object = {}) => new STSClient({ ...at(server), ...more }).send(new GetCallerIdentityCommand({}));
    expect(await ask()).toMatchObject({ Account: "123456789012", Arn: "arn:aws:iam::123456789012:user/test" });
    await expect(ask({ credentials: { ...user, secretAccessKey: "wrong" } })).rejects.toMatchObject({
      name: "SignatureDoesNotMatch",
    });
    await expect(ask({ credentials: { ...user, accessKeyId: "AKIANONE" } })).rejects.toMatchObject({
      name: "InvalidClientTokenId",
    });
    await expect(ask({ systemClockOffset: -16 * 60_000 })).rejects.toMatchObject({ name: "SignatureDoesNotMatch" });
    await expect(ask({ region: "us-east-1" })).rejects.toThrow(/scoped to sts in eu-central-1/);
    expect(server.refused.map((line) => line.split(": ")[1])).toEqual([
      "wrong signature",
      "unknown key",
      "skewed",
      "malformed",
    ]);
    expect(server.requests).toHaveLength(1);
  });

  test("services of the JSON protocol name their refusals in their way", async () => {
    const server = await start();
    const ask = (credentials = user) =>
      new SecretsManagerClient(at(server, credentials)).send(new GetSecretValueCommand({ SecretId: "a" }));
    await expect(ask()).rejects.toMatchObject({ name: "ResourceNotFoundException" });
    await expect(ask({ ...user, secretAccessKey: "wrong" })).rejects.toMatchObject({
      name: "InvalidSignatureException",
    });
    await expect(ask({ ...user, accessKeyId: "AKIANONE" })).rejects.toMatchObject({
      name: "UnrecognizedClientException",
    });
  });

  test("a body that was changed on its way is refused", async () => {
    const server = await start();
    const now = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    const hmac = (k: string | Buffer, text: string) => createHmac("sha256", k).update(text).digest();
    const body = "Action=GetCallerIdentity&Version=2011-06-15";
    const host = new URL(server.url).host;
    const scope = `${now.slice(0, 8)}/${region}/sts/aws4_request`;
    const text = ["POST", "/", "", `host:${host}`, `x-amz-date:${now}`, "", "host;x-amz-date", hash(body)].join("\n");
    const derived = scope.split("/").reduce<string | Buffer>(hmac, `AWS4${user.secretAccessKey}`);
    const signature = hmac(derived, ["AWS4-HMAC-SHA256", now, scope, hash(text)].join("\n")).toString("hex");
    const authorization = `AWS4-HMAC-SHA256 Credential=${user.accessKeyId}/${scope}, SignedHeaders=host;x-amz-date, Signature=${signature}`;
    const send = async (sent: string) =>
      (await fetch(server.url, { method: "POST", body: sent, headers: { "x-amz-date": now, authorization } })).status;
    expect(await send(body)).toBe(200);
    expect(await send(`${body}&x=1`)).toBe(403);
  });

  test("a role is assumed by whom it trusts, and its session ends", async () => {
    let now = Date.now();
    const roles = {
      [role]: { trusts: ["AKIATEST"], externalId: "x", webIdentity: "jwt", deny: ["secretsmanager:GetSecretValue"] },
    };
    const server = await start({ roles, now: () => now });
    const sts = new STSClient(at(server));
    const wanted = { RoleArn: role, RoleSessionName: "outpost" };
    await expect(sts.send(new AssumeRoleCommand(wanted))).rejects.toMatchObject({ name: "AccessDenied" });
    const { Credentials: c } = await sts.send(new AssumeRoleCommand({ ...wanted, ExternalId: "x" }));
    const session = {
      accessKeyId: c!.AccessKeyId!,
      secretAccessKey: c!.SecretAccessKey!,
      sessionToken: c!.SessionToken!,
    };
    const me = (credentials: typeof session) =>
      new STSClient(at(server, credentials)).send(new GetCallerIdentityCommand({}));
    expect((await me(session)).Arn).toBe("arn:aws:sts::123456789012:assumed-role/deployer/outpost");
    await expect(me({ ...session, sessionToken: "other" })).rejects.toMatchObject({ name: "InvalidClientTokenId" });
    const denied = new SecretsManagerClient(at(server, session)).send(new GetSecretValueCommand({ SecretId: "a" }));
    await expect(denied).rejects.toMatchObject({ name: "AccessDeniedException" });
    const anonymous = new AssumeRoleWithWebIdentityCommand({ ...wanted, WebIdentityToken: "jwt" });
    expect((await sts.send(anonymous)).Credentials?.AccessKeyId).toMatch(/^ASIA/);
    // The session is over for the service, whose clock has gone on by an hour; the client's offset keeps its signature fresh.
    now += 3601_000;
    const late = new STSClient({ ...at(server, session), systemClockOffset: 3601_000 }).send(
      new GetCallerIdentityCommand({}),
    );
    await expect(late).rejects.toMatchObject({ name: "ExpiredToken" });
  });

  test("secrets are text or bytes, and found by name and ARN", async () => {
    const server = await start();
    const client = new SecretsManagerClient(at(server));
    server.secrets.set("db/password", "hunter2").set("key", new Uint8Array([0, 255]));
    const found = await client.send(new GetSecretValueCommand({ SecretId: "db/password" }));
    expect(found).toMatchObject({ Name: "db/password", SecretString: "hunter2", VersionStages: ["AWSCURRENT"] });
    expect((await client.send(new GetSecretValueCommand({ SecretId: found.ARN! }))).SecretString).toBe("hunter2");
    expect((await client.send(new GetSecretValueCommand({ SecretId: "key" }))).SecretBinary).toEqual(
      new Uint8Array([0, 255]),
    );
  });

  test("ECR's token opens the registry it was given", async () => {
    const server = await start({ registry: { url: "http://127.0.0.1:5000", password: "p" } });
    const { authorizationData } = await new ECRClient(at(server)).send(new GetAuthorizationTokenCommand({}));
    expect(authorizationData![0]!.proxyEndpoint).toBe("http://127.0.0.1:5000");
    expect(Buffer.from(authorizationData![0]!.authorizationToken!, "base64").toString()).toBe("AWS:p");
  });

  test("a throttled call succeeds when it is made again", async () => {
    const server = await start();
    server.secrets.set("a", "b");
    server.fail("secretsmanager:GetSecretValue", { code: "ThrottlingException", times: 2 });
    const client = new SecretsManagerClient({ ...at(server), maxAttempts: 3 });
    expect((await client.send(new GetSecretValueCommand({ SecretId: "a" }))).SecretString).toBe("b");
    expect(server.requests.map(({ code }) => code)).toEqual(["ThrottlingException", "ThrottlingException", undefined]);
  });
});

describe("ECS", () => {
  const containers = (image: string) => [{ name: "app", image, essential: true }];
  const web = async (options: AwsOptions = {}) => {
    const server = await start(options);
    server.ecs.addService("prod", "web", { family: "web", containerDefinitions: containers("app:1") }, 2);
    const client = new ECSClient(at(server));
    const describe_ = async () =>
      (await client.send(new DescribeServicesCommand({ cluster: "prod", services: ["web"] }))).services![0]!;
    const release = async (image: string, more = {}) => {
      const { taskDefinition } = await client.send(new DescribeTaskDefinitionCommand({ taskDefinition: "web" }));
      const made = await client.send(
        new RegisterTaskDefinitionCommand({ family: taskDefinition!.family!, containerDefinitions: containers(image) }),
      );
      const update = {
        cluster: "prod",
        service: "web",
        taskDefinition: made.taskDefinition!.taskDefinitionArn!,
        ...more,
      };
      return (await client.send(new UpdateServiceCommand(update))).service!;
    };
    return { server, client, describe_, release };
  };

  test("a new revision is rolled out and replaces the old one", async () => {
    const { server, describe_, release } = await web({ rolloutMs: 100 });
    expect((await describe_()).deployments).toMatchObject([{ rolloutState: "COMPLETED", runningCount: 2 }]);
    const service = await release("app:2");
    expect(service.taskDefinition).toBe("arn:aws:ecs:eu-central-1:123456789012:task-definition/web:2");
    expect(service.deployments).toMatchObject([
      { status: "PRIMARY", rolloutState: "IN_PROGRESS" },
      { status: "ACTIVE" },
    ]);
    const done = await until("rolled out", async () => {
      const now = await describe_();
      return now.deployments?.length === 1 && now;
    });
    expect(done).toMatchObject({
      runningCount: 2,
      deployments: [{ rolloutState: "COMPLETED", taskDefinition: service.taskDefinition }],
    });
    expect(done.events![0]!.message).toContain("steady state");
    expect(server.ecs.images("prod", "web")).toEqual(["app:2"]);
  });

  test("a broken image never comes up; the circuit breaker rolls it back", async () => {
    const { server, describe_, release } = await web({
      rolloutMs: 20,
      broken: (image) => (image === "app:bad" ? "CannotPullContainerError" : undefined),
    });
    const breaker = { deploymentConfiguration: { deploymentCircuitBreaker: { enable: true, rollback: true } } };
    await release("app:bad", breaker);
    const failed = await until("failed", async () =>
      (await describe_()).deployments?.find((d) => d.rolloutState === "FAILED"),
    );
    expect(failed).toMatchObject({ runningCount: 0, rolloutStateReason: expect.stringContaining("circuit breaker") });
    await until("rolled back", async () => (await describe_()).deployments?.length === 1);
    expect(server.ecs.images("prod", "web")).toEqual(["app:1"]);
  });

  test.each([
    ["cluster", { cluster: "none", service: "web" }, "ClusterNotFoundException"],
    ["service", { cluster: "prod", service: "none" }, "ServiceNotFoundException"],
    ["task definition", { cluster: "prod", service: "web", taskDefinition: "web:9" }, "ClientException"],
  ])("an unknown %s is said so", async (_, update, name) => {
    const { client } = await web();
    await expect(client.send(new UpdateServiceCommand(update))).rejects.toMatchObject({ name });
  });
});
