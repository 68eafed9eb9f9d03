import { setTimeout as sleep } from "node:timers/promises";
import type { ECSClient, Service, TaskDefinition } from "@aws-sdk/client-ecs";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsEcsDeploy } from "../../../../openapi/contract/validators.js";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { failed, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import { awsClient, awsFailure } from "./aws.ts";

type Params = Schemas["TaskParamsEcsDeploy"];
type Ecs = typeof import("@aws-sdk/client-ecs");

const FIRST_LOOK_MS = 1_000;
const LONGEST_LOOK_MS = 15_000;

/** Gives a service of ECS new images or a new task definition, or restarts it, and waits until it is stable. */
export const ecsDeploy: TaskKindHandler<Params> = {
  validate: validateTaskParamsEcsDeploy,

  async lacks() {
    return undefined;
  },

  async run(params, context) {
    if (params.images && params.taskDefinition)
      return failed("ParamsInvalid", "/params: give `images` or `taskDefinition`, but not both");
    // Large, and needed here only: loaded with the first such task.
    const ecs = await import("@aws-sdk/client-ecs");
    const client = new ecs.ECSClient(awsClient(params.aws, context));
    try {
      return await deploy(ecs, client, params, context);
    } catch (error) {
      const { reason, message } = awsFailure(error, `deploy ${params.service} of ${params.cluster}`);
      return failed(reason, message);
    } finally {
      client.destroy();
    }
  },
};

async function deploy(ecs: Ecs, client: ECSClient, params: Params, context: TaskContext) {
  const { cluster, desiredCount, forceNewDeployment = true, wait = true } = params;
  const before = await look(ecs, client, params, context);
  if (before.kind !== "done") return failed(before.reason, before.message);
  const revision = params.images
    ? await register(ecs, client, before.value, params.images, context)
    : done(params.taskDefinition);
  if (revision.kind !== "done") return failed(revision.reason, revision.message);
  const { service } = await client.send(
    new ecs.UpdateServiceCommand({
      cluster,
      service: params.service,
      forceNewDeployment,
      ...(revision.value ? { taskDefinition: revision.value } : {}),
      ...(desiredCount === undefined ? {} : { desiredCount }),
    }),
    { abortSignal: context.signal },
  );
  const deployment = service?.deployments?.find(({ status }) => status === "PRIMARY")?.id;
  const taskDefinition = service?.taskDefinition;
  await context.progress(`deployment ${deployment} of ${taskDefinition} has begun`);
  const ended = wait ? await untilStable({ ecs, client, params, context }, deployment, before.value) : done(service!);
  if (ended.kind !== "done") return failed(ended.reason, ended.message, { taskDefinition, deployment });
  const { runningCount: running = 0, desiredCount: desired = 0 } = ended.value;
  return { outcome: "succeeded" as const, outputs: { taskDefinition, deployment, running, desired } };
}

async function look(
  ecs: Ecs,
  client: ECSClient,
  { cluster, service }: Params,
  { signal }: TaskContext,
): Promise<Outcome<Service>> {
  const answer = await client.send(new ecs.DescribeServicesCommand({ cluster, services: [service] }), {
    abortSignal: signal,
  });
  const found = answer.services?.[0];
  if (!found)
    return stop(
      "ServiceNotFound",
      `the cluster ${cluster} has no service ${service} (${answer.failures?.[0]?.reason ?? "MISSING"})`,
    );
  if (found.status !== "ACTIVE")
    return stop("ServiceNotActive", `the service ${service} is ${found.status}; it cannot be deployed`);
  return done(found);
}

/** A new revision of the service's task definition, the same but for the images. */
async function register(
  ecs: Ecs,
  client: ECSClient,
  service: Service,
  images: Record<string, string>,
  { signal, progress }: TaskContext,
): Promise<Outcome<string>> {
  const describe = new ecs.DescribeTaskDefinitionCommand({ taskDefinition: service.taskDefinition, include: ["TAGS"] });
  const { taskDefinition: old, tags } = await client.send(describe, { abortSignal: signal });
  const names = (old?.containerDefinitions ?? []).map(({ name }) => name ?? "");
  const unknown = Object.keys(images).find((name) => !names.includes(name));
  if (!old || unknown)
    return stop(
      "ContainerNotFound",
      `${service.taskDefinition} has no container ${unknown}; it has ${names.join(", ")}`,
    );
  const same = (old.containerDefinitions ?? []).every(({ name = "", image }) => (images[name] ?? image) === image);
  if (same) return done(service.taskDefinition!);
  const containerDefinitions = (old.containerDefinitions ?? []).map((one) => ({
    ...one,
    image: images[one.name ?? ""] ?? one.image,
  }));
  const command = new ecs.RegisterTaskDefinitionCommand({
    ...settingsOf(old),
    containerDefinitions,
    ...(tags?.length ? { tags } : {}),
  });
  const arn = (await client.send(command, { abortSignal: signal })).taskDefinition?.taskDefinitionArn;
  if (!arn) return stop("AwsFailed", "ECS registered a task definition and did not say its name");
  await progress(`${arn} is registered`);
  return done(arn);
}

/** Without what ECS itself adds to a definition. */
function settingsOf(old: TaskDefinition) {
  const {
    taskDefinitionArn,
    revision,
    status,
    requiresAttributes,
    compatibilities,
    registeredAt,
    registeredBy,
    deregisteredAt,
    family,
    ...rest
  } = old;
  return { ...rest, family };
}

/** Looks until the deployment is complete, and says meanwhile what the service says. */
async function untilStable(
  { ecs, client, params, context }: { ecs: Ecs; client: ECSClient; params: Params; context: TaskContext },
  deployment: string | undefined,
  before: Service,
): Promise<Outcome<Service>> {
  const told = new Set((before.events ?? []).map(({ id }) => id));
  let last = "";
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_LOOK_MS)) {
    const now = await look(ecs, client, params, context);
    if (now.kind !== "done") return now;
    for (const { id, message } of [...(now.value.events ?? [])].reverse()) {
      if (told.has(id)) continue;
      told.add(id);
      last = message ?? last;
      await context.progress(message ?? "");
    }
    const { deployments = [], runningCount, desiredCount } = now.value;
    const own = deployments.find(({ id }) => id === deployment);
    if (own?.rolloutState === "FAILED")
      return stop(
        "DeploymentFailed",
        `the deployment has failed: ${own.rolloutStateReason ?? last}${last ? `; the service says: ${last}` : ""}`,
      );
    const primary = deployments.find(({ status }) => status === "PRIMARY");
    if (deployment && primary?.id !== deployment)
      return stop(
        "DeploymentReplaced",
        `another deployment, ${primary?.id}, took its place (a rollback, or another deployment)${last ? `; the service says: ${last}` : ""}`,
      );
    const settled = deployments.length === 1 && runningCount === desiredCount;
    // Deployments that another controller does have no state of their own.
    if (settled && (own?.rolloutState ?? "COMPLETED") === "COMPLETED") return now;
    await sleep(pauseMs, undefined, { signal: context.signal }).catch(() => undefined);
    if (context.signal.aborted)
      return stop("Ended", `it was ended before the service was stable${last ? `; the service says: ${last}` : ""}`);
  }
}
