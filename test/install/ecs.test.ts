import { readFileSync } from "node:fs";
import { ECSClient, RegisterTaskDefinitionCommand, type RegisterTaskDefinitionCommandInput } from "@aws-sdk/client-ecs";
import { startAws } from "../servers/aws.ts";
import { type InstallWorld, installWorld } from "./world.ts";

let w: InstallWorld;
beforeAll(async () => {
  w = await installWorld();
}, 60_000);
afterAll(() => w?.stop());

const draw = async (body: object) =>
  JSON.parse(readFileSync(await w.installer("cloud", "ecs", body), "utf8")) as RegisterTaskDefinitionCommandInput;

test("the task definition is what AWS's own client sends and ECS registers, field for field", async () => {
  const definition = await draw({
    caCertificate: "-----BEGIN CERTIFICATE-----\nAAAA",
    initScript: "echo 1",
    imagePullSecret: "registry",
  });
  const aws = await startAws({ users: { AKIATEST: { secretAccessKey: "s" } } });
  const client = new ECSClient({
    endpoint: aws.url,
    region: aws.region,
    credentials: { accessKeyId: "AKIATEST", secretAccessKey: "s" },
  });
  try {
    const { taskDefinition } = await client.send(new RegisterTaskDefinitionCommand(definition));
    expect(taskDefinition).toMatchObject({ family: "outpost-delegate-cloud", revision: 1 });
    // The client drops what the API does not have.
    expect(aws.requests[0]!.input).toEqual(definition);
  } finally {
    client.destroy();
    await aws.stop();
  }
});

test("the delegate is not root, cannot write but to its volumes, and starts after what prepares them", async () => {
  const { containerDefinitions = [], ...task } = await draw({ withToken: false, initScript: "echo 1" });
  expect(task).toMatchObject({
    requiresCompatibilities: ["FARGATE", "EC2"],
    networkMode: "awsvpc",
    executionRoleArn: expect.stringMatching(/^arn:/),
  });
  expect(containerDefinitions.map((c) => [c.name, c.user, c.essential, c.dependsOn?.[0]?.containerName])).toEqual([
    ["prepare", "0", false, undefined],
    ["init-script", "1000:1000", false, "prepare"],
    ["delegate", "1000:1000", true, "init-script"],
  ]);
  for (const { readonlyRootFilesystem, linuxParameters, portMappings } of containerDefinitions)
    expect([readonlyRootFilesystem, linuxParameters?.capabilities?.drop, portMappings]).toEqual([
      true,
      ["ALL"],
      undefined,
    ]);
  const { secrets, environment, linuxParameters } = containerDefinitions.at(-1)!;
  expect(secrets).toEqual([{ name: "DELEGATE_TOKEN", valueFrom: expect.stringContaining("secretsmanager") }]);
  expect([environment!.map((e) => e.name), linuxParameters!.initProcessEnabled]).toEqual([
    expect.not.arrayContaining(["DELEGATE_TOKEN"]),
    true,
  ]);
});

test("a token of the service or a parameter of yours stands where the task reads it", async () => {
  const delegate = async (body: object) => (await draw(body)).containerDefinitions!.at(-1)!;
  expect((await delegate({})).environment).toContainEqual({
    name: "DELEGATE_TOKEN",
    value: expect.stringMatching(/^ot1_/),
  });
  expect((await delegate({ existingSecret: "mine" })).secrets).toEqual([{ name: "DELEGATE_TOKEN", valueFrom: "mine" }]);
});
