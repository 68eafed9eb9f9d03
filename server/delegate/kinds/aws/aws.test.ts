import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { canHave } from "../../../../test/cluster/tools.ts";
import { type Aws, startAws } from "../../../../test/servers/aws.ts";
import { type Registry, startRegistry } from "../../../../test/servers/registry.ts";
import { freePort } from "../../../../test/servers/run.ts";
import { type KindBench, kindBench } from "../../testing/kind.ts";
import { temporaryFolder } from "../../testing/temporary.ts";
import { ecrLogin } from "../image/ecr-login.ts";
import { imagePush } from "../image/image-push.ts";
import { ecsDeploy } from "./ecs-deploy.ts";

/** Against a server that checks every signature. */
jest.setTimeout(60_000);
const dir = temporaryFolder();
const ID = "AKIATESTDEPLOYER";
const KEY = "a/secret+access/key+of/forty+characters01";
const ROLE = "arn:aws:iam::123456789012:role/deployer";
const ROBOT = "an-ecr-password-9x7";
let aws: Aws;
let registry: Registry | undefined;
let bench: KindBench;

beforeAll(async () => {
  registry = canHave("registry") ? await startRegistry({ users: { AWS: ROBOT } }) : undefined;
  aws = await startAws({
    users: { [ID]: { secretAccessKey: KEY }, AKIAREADONLY: { secretAccessKey: KEY, deny: ["ecs:UpdateService"] } },
    roles: { [ROLE]: { externalId: "ours" }, "arn:aws:iam::123456789012:role/web": { webIdentity: "a.web.token" } },
    ...(registry ? { registry: { url: registry.url, password: ROBOT } } : {}),
    broken: (image) => (image.includes("broken") ? "CannotPullContainerError: not found" : undefined),
  });
  bench = kindBench(dir);
}, 600_000);
afterAll(async () => {
  await aws?.stop();
  await registry?.stop();
});

const access = (more = {}) => ({
  region: "eu-central-1",
  accessKeyId: ID,
  secretAccessKey: KEY,
  endpoint: aws.url,
  ...more,
});
const definition = (family: string) => ({
  family,
  cpu: "256",
  containerDefinitions: [
    { name: "app", image: "app:1", essential: true },
    { name: "proxy", image: "proxy:1" },
  ],
});

test("new images become a new revision of the task definition, and the task waits for it", async () => {
  aws.ecs.addService("prod", "web", definition("web"), 2);
  const result = await bench.run(ecsDeploy, {
    aws: access(),
    cluster: "prod",
    service: "web",
    images: { app: "app:2" },
  });
  expect(result).toMatchObject({
    outcome: "succeeded",
    outputs: {
      taskDefinition: expect.stringMatching(/task-definition\/web:2$/),
      deployment: expect.stringContaining("ecs-svc/"),
      running: 2,
      desired: 2,
    },
  });
  expect(aws.ecs.images("prod", "web")).toEqual(["app:2", "proxy:1"]);
  expect(aws.requests.find(({ action }) => action === "ecs:RegisterTaskDefinition")!.input).not.toHaveProperty(
    "revision",
  );
  expect(result.log.join("\n")).toMatch(/steady state/);
});

test("a restart, another size and another definition need no images", async () => {
  aws.ecs.addService("prod", "api", definition("api"));
  const base = { aws: access(), cluster: "prod", service: "api" };
  expect(await bench.run(ecsDeploy, { ...base, desiredCount: 3 })).toMatchObject({
    outputs: { running: 3, desired: 3 },
  });
  aws.ecs.register({ ...definition("api"), memory: "512" });
  const other = await bench.run(ecsDeploy, { ...base, taskDefinition: "api:2", wait: false });
  expect(other).toMatchObject({ outcome: "succeeded", outputs: { taskDefinition: expect.stringMatching(/api:2$/) } });
});

test("images that do not start fail the task with what the service says", async () => {
  const service = { ...definition("bad") };
  aws.ecs.addService("prod", "bad", service);
  const client = aws.ecs.operations.UpdateService!;
  await client(
    {
      cluster: "prod",
      service: "bad",
      deploymentConfiguration: { deploymentCircuitBreaker: { enable: true, rollback: true } },
    },
    {} as never,
  );
  const result = await bench.run(ecsDeploy, {
    aws: access(),
    cluster: "prod",
    service: "bad",
    images: { app: "broken:1" },
  });
  expect(result).toMatchObject({ outcome: "failed", message: expect.stringMatching(/CannotPullContainerError/) });
  expect(["DeploymentFailed", "DeploymentReplaced"]).toContain(result.reason);
});

test.each<[string, object, object, string, RegExp]>([
  [
    "a wrong key",
    { secretAccessKey: "b".repeat(40) },
    {},
    "AwsKeysRefused",
    /rejects these keys \(.*Signature.*clock/s,
  ],
  ["an unknown key", { accessKeyId: "AKIANOBODY" }, {}, "AwsKeysRefused", /rejects these keys/],
  ["half a key", { secretAccessKey: undefined }, {}, "NoAwsCredentials", /both/],
  ["a key without the right", { accessKeyId: "AKIAREADONLY" }, {}, "AwsAccessDenied", /UpdateService/],
  ["a cluster that is not there", {}, { cluster: "none" }, "AwsRefused", /Cluster not found/],
  ["a service that is not there", {}, { service: "none" }, "ServiceNotFound", /no service none/],
  [
    "a container that is not there",
    {},
    { images: { nobody: "x:1" } },
    "ContainerNotFound",
    /no container nobody; it has app, proxy/,
  ],
])("%s is told", async (_name, keys, more, reason, message) => {
  aws.ecs.addService("prod", "told", definition("told"));
  const given = Object.fromEntries(Object.entries(access(keys)).filter(([, value]) => value !== undefined));
  const result = await bench.run(ecsDeploy, { aws: given as never, cluster: "prod", service: "told", ...more });
  expect(result).toMatchObject({ outcome: "failed", reason, message: expect.stringMatching(message) });
  expect(JSON.stringify([result.message, result.log])).not.toContain(KEY);
});

test("without keys the delegate's own count, and its machine's role only where that is allowed", async () => {
  aws.ecs.addService("prod", "own", definition("own"));
  const params = { aws: { region: "eu-central-1", endpoint: aws.url }, cluster: "prod", service: "own", wait: false };
  expect(await bench.run(ecsDeploy, params)).toMatchObject({
    reason: "NoAwsCredentials",
    message: expect.stringContaining("OUTPOST_ALLOW_METADATA"),
  });
  const keys = kindBench(join(dir, "keys"), {
    PATH: process.env.PATH,
    AWS_ACCESS_KEY_ID: ID,
    AWS_SECRET_ACCESS_KEY: KEY,
  });
  expect(await keys.run(ecsDeploy, params)).toMatchObject({ outcome: "succeeded" });
  const file = join(dir, "web-token");
  writeFileSync(file, "a.web.token\n");
  const web = kindBench(join(dir, "web"), {
    PATH: process.env.PATH,
    AWS_WEB_IDENTITY_TOKEN_FILE: file,
    AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/web",
    AWS_ENDPOINT_URL_STS: aws.url,
  });
  expect(await web.run(ecsDeploy, params)).toMatchObject({ outcome: "succeeded" });
  expect(aws.requests.at(-1)!.arn).toMatch(/assumed-role\/web\//);
});

test("a role is assumed with its external id", async () => {
  aws.ecs.addService("prod", "role", definition("role"));
  const params = { cluster: "prod", service: "role", wait: false };
  expect(await bench.run(ecsDeploy, { ...params, aws: access({ roleArn: ROLE, externalId: "ours" }) })).toMatchObject({
    outcome: "succeeded",
  });
  expect(aws.requests.at(-1)!.arn).toMatch(/assumed-role\/deployer\//);
  const denied = await bench.run(ecsDeploy, { ...params, aws: access({ roleArn: ROLE, externalId: "theirs" }) });
  expect(denied).toMatchObject({
    outcome: "failed",
    reason: "AwsAccessDenied",
    message: expect.stringContaining("AssumeRole"),
  });
});

test("throttling passes by itself; an AWS that is not there is told", async () => {
  aws.ecs.addService("prod", "slow", definition("slow"));
  aws.fail("ecs:UpdateService", { code: "ThrottlingException", times: 2 });
  const params = { cluster: "prod", service: "slow", wait: false };
  expect(await bench.run(ecsDeploy, { ...params, aws: access() })).toMatchObject({ outcome: "succeeded" });
  const away = access({ endpoint: `http://127.0.0.1:${await freePort()}` });
  expect(await bench.run(ecsDeploy, { ...params, aws: away })).toMatchObject({
    reason: "AwsUnreachable",
    message: expect.stringMatching(/ECONNREFUSED/),
  });
});

const withRegistry = canHave("registry") ? test : test.skip;

withRegistry("ECR's login is proved at the registry, used for a push, and shown nowhere", async () => {
  const host = registry!.host;
  const result = await bench.run(ecrLogin, { aws: access() });
  expect(result).toMatchObject({
    outcome: "succeeded",
    outputs: { registry: host, expiresAt: expect.stringMatching(/^20.*Z$/) },
  });
  expect(JSON.stringify(result)).not.toContain(ROBOT);
  const unknown = await bench.run(imagePush, {
    from: `${host}/none:1`,
    to: [`${host}/team/a:1`],
    registries: [{ registry: host, ecr: access(), plainHttp: true }],
  });
  // The login was taken: it is the image that is not there.
  expect(unknown).toMatchObject({ reason: "ImageNotFound" });
  expect(await bench.run(ecrLogin, { aws: access({ secretAccessKey: "b".repeat(40) }) })).toMatchObject({
    reason: "AwsKeysRefused",
  });
});
