import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Aws, startAws } from "../../../test/servers/aws.ts";
import { temporaryFolder } from "../testing/temporary.ts";
import { AwsSource } from "./aws.ts";

const USER = { AWS_ACCESS_KEY_ID: "AKIAOUTPOSTTEST", AWS_SECRET_ACCESS_KEY: "user-secret-access-key" };
const DENIED = { AWS_ACCESS_KEY_ID: "AKIADENIED", AWS_SECRET_ACCESS_KEY: "denied-secret-access-key" };
const ROLE = "arn:aws:iam::123456789012:role/secrets";
const POD_ROLE = "arn:aws:iam::123456789012:role/pod";
const dir = temporaryFolder();
let aws: Aws;

beforeAll(async () => {
  aws = await startAws({
    users: {
      [USER.AWS_ACCESS_KEY_ID]: { secretAccessKey: USER.AWS_SECRET_ACCESS_KEY },
      [DENIED.AWS_ACCESS_KEY_ID]: {
        secretAccessKey: DENIED.AWS_SECRET_ACCESS_KEY,
        deny: ["secretsmanager:GetSecretValue"],
      },
    },
    roles: { [ROLE]: { externalId: "outpost" }, [POD_ROLE]: { webIdentity: "token-of-the-pod" } },
  });
  aws.secrets.set("app/db", JSON.stringify({ user: "app", password: "db-password-ü" }));
  aws.secrets.set("plain", "plain-value");
  aws.secrets.set("bytes", Buffer.from("value-as-bytes"));
});
afterAll(() => aws?.stop());

const read = (path: string, key?: string, env: NodeJS.ProcessEnv = USER, more = {}) =>
  new AwsSource({ region: "eu-central-1", endpoint: aws.url, stsEndpoint: aws.url, ...more }, env).read(
    path,
    key,
    new AbortController().signal,
  );

test("a secret is read whole, by a key of its JSON, by its ARN, and as bytes", async () => {
  expect(await read("plain")).toEqual({ kind: "done", value: "plain-value" });
  expect(await read("app/db", "password")).toEqual({ kind: "done", value: "db-password-ü" });
  expect(await read("arn:aws:secretsmanager:eu-central-1:123456789012:secret:plain-abcdef")).toEqual({
    kind: "done",
    value: "plain-value",
  });
  expect(await read("bytes")).toEqual({ kind: "done", value: "value-as-bytes" });
  expect(aws.refused).toEqual([]);
});

test("a role is assumed when one is named, and its credentials are used", async () => {
  expect(await read("plain", undefined, USER, { roleArn: ROLE, externalId: "outpost" })).toEqual({
    kind: "done",
    value: "plain-value",
  });
  const [assumed, got] = aws.requests.slice(-2);
  expect([assumed?.action, got?.action, got?.arn]).toEqual([
    "sts:AssumeRole",
    "secretsmanager:GetSecretValue",
    expect.stringMatching(/assumed-role\/secrets\/outpost-delegate/),
  ]);
  expect(await read("plain", undefined, USER, { roleArn: ROLE, externalId: "other" })).toMatchObject({
    kind: "stop",
    reason: "SecretRefused",
  });
});

test("a Pod's web identity is exchanged for its role, with the token as it is now", async () => {
  const file = join(dir, "token");
  const env = { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: POD_ROLE };
  writeFileSync(file, "not-this-one");
  const source = new AwsSource({ region: "eu-central-1", endpoint: aws.url, stsEndpoint: aws.url }, env);
  const ask = () => source.read("plain", undefined, new AbortController().signal);
  expect(await ask()).toMatchObject({ kind: "stop", reason: "SecretRefused" });
  writeFileSync(file, "token-of-the-pod\n");
  expect(await ask()).toEqual({ kind: "done", value: "plain-value" });
});

test.each<[string, () => ReturnType<typeof read>, object]>([
  ["a secret that is not there", () => read("none"), { kind: "stop", reason: "SecretNotFound" }],
  [
    "a key that is not there",
    () => read("app/db", "none"),
    { kind: "stop", reason: "SecretNotFound", message: "it has no #none" },
  ],
  [
    "a wrong key of access",
    () => read("plain", undefined, { ...USER, AWS_SECRET_ACCESS_KEY: "wrong" }),
    { kind: "stop", reason: "SecretRefused" },
  ],
  [
    "a right that is missing",
    () => read("plain", undefined, DENIED),
    { kind: "stop", reason: "SecretRefused", message: expect.stringMatching(/not authorized/) },
  ],
  [
    "a place that is away",
    () => read("plain", undefined, USER, { endpoint: "http://127.0.0.1:1" }),
    { kind: "again", reason: "SecretSourceUnavailable" },
  ],
])("%s is said by name, and no value", async (_name, asking, want) => {
  const outcome = await asking();
  expect(outcome).toMatchObject(want);
  expect(JSON.stringify(outcome)).not.toMatch(/secret-access-key|plain-value|db-password/);
});

test("being throttled passes, and the next question is answered", async () => {
  aws.fail("secretsmanager:GetSecretValue", { code: "ThrottlingException", times: 1 });
  aws.fail("secretsmanager:GetSecretValue", { code: "InternalServiceError", status: 500, times: 1 });
  const source = new AwsSource({ region: "eu-central-1", endpoint: aws.url }, USER);
  const ask = () => source.read("plain", undefined, new AbortController().signal);
  expect([(await ask()).kind, (await ask()).kind, (await ask()).kind]).toEqual(["again", "again", "done"]);
});

test("requests go through the environment's proxy", async () => {
  const seen: string[] = [];
  const proxy = createServer((_, response) => response.writeHead(502).end()).on("connect", (request, socket) => {
    seen.push(request.url ?? "");
    socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const HTTPS_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const outcome = await read(
    "plain",
    undefined,
    { ...USER, HTTPS_PROXY },
    { endpoint: "https://secretsmanager.example" },
  );
  proxy.close();
  expect([outcome.kind, seen]).toEqual(["again", ["secretsmanager.example:443"]]);
});
