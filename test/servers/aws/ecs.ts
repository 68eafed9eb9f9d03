import { randomUUID } from "node:crypto";
import { AwsError, type Operation } from "./errors.ts";

// biome-ignore lint/suspicious/noExplicitAny: AWS's documents, kept as they came.
type Document = Record<string, any>;

interface Deployment {
  id: string;
  taskDefinition: string;
  since: number;
  /** How many it brings up, and from when on it counts. */
  desired: number;
  /** Why its tasks end at once. */
  broken?: string;
  failed?: string;
  completed?: number;
}

interface Service {
  cluster: string;
  name: string;
  desired: number;
  /** Newest first. */
  deployments: Deployment[];
  configuration: Document;
  events: { id: string; createdAt: number; message: string }[];
}

export interface EcsOptions {
  account: string;
  region: string;
  now(): number;
  /** How long a rollout takes from the first task to the last. */
  rolloutMs: number;
  /** Why a container with this image would not start; undefined for one that would. */
  broken(image: string): string | undefined;
}

/** A failing deployment is given up after so many tasks where the circuit breaker is on; AWS's least. */
const FAILURES = 3;

/** Services of ECS as its API shows them: a rollout takes time, replaces the old deployment, or fails and is rolled back. */
export class Ecs {
  readonly #options: EcsOptions;
  readonly #families = new Map<string, Document[]>();
  readonly #services = new Map<string, Service>();
  readonly #clusters = new Set<string>();

  constructor(options: EcsOptions) {
    this.#options = options;
  }

  readonly operations: Record<string, Operation> = {
    DescribeServices: (input) => {
      const cluster = this.#cluster(input.cluster);
      const found = (input.services as string[]).map(
        (name) => [name, this.#services.get(`${cluster}/${short(name)}`)] as const,
      );
      return {
        services: found.flatMap(([, service]) => (service ? [this.#show(service)] : [])),
        failures: found.flatMap(([name, service]) =>
          service ? [] : [{ arn: this.#arn(`service/${cluster}/${short(name)}`), reason: "MISSING" }],
        ),
      };
    },
    DescribeTaskDefinition: (input) => ({ taskDefinition: this.#taskDefinition(input.taskDefinition), tags: [] }),
    RegisterTaskDefinition: (input) => ({
      taskDefinition: this.register(input as { family: string }),
      tags: input.tags ?? [],
    }),
    UpdateService: (input) => {
      const cluster = this.#cluster(input.cluster);
      const service = this.#services.get(`${cluster}/${short(input.service)}`);
      if (!service) throw new AwsError("ServiceNotFoundException", "Service not found.");
      if (input.deploymentConfiguration) Object.assign(service.configuration, input.deploymentConfiguration);
      if (input.desiredCount !== undefined) service.desired = input.desiredCount;
      if (input.taskDefinition || input.forceNewDeployment)
        this.#deploy(
          service,
          this.#taskDefinition(input.taskDefinition ?? service.deployments[0]!.taskDefinition).taskDefinitionArn,
        );
      else if (input.desiredCount !== undefined) service.deployments[0]!.desired = input.desiredCount;
      return { service: this.#show(service) };
    },
  };

  /** Adds a revision, as RegisterTaskDefinition does. */
  register(definition: Document & { family: string }): Document {
    if (!definition.family || !definition.containerDefinitions?.length)
      throw new AwsError("ClientException", "Family and container definitions should not be empty.");
    const revisions = this.#families.get(definition.family) ?? [];
    const revision = revisions.length + 1;
    const made = {
      ...definition,
      revision,
      status: "ACTIVE",
      taskDefinitionArn: this.#arn(`task-definition/${definition.family}:${revision}`),
      registeredAt: this.#options.now() / 1000,
    };
    this.#families.set(definition.family, [...revisions, made]);
    return made;
  }

  /** A service that has run for long: its only deployment is completed. Makes the cluster. */
  addService(cluster: string, name: string, taskDefinition: Document & { family: string }, desiredCount = 1): void {
    const { taskDefinitionArn } = this.register(taskDefinition);
    this.#clusters.add(cluster);
    const service: Service = {
      cluster,
      name,
      desired: desiredCount,
      deployments: [],
      events: [],
      configuration: { maximumPercent: 200, minimumHealthyPercent: 100 },
    };
    const since = this.#options.now() - 24 * 3600_000;
    service.deployments.push({
      id: id(),
      taskDefinition: taskDefinitionArn,
      since,
      desired: desiredCount,
      completed: since,
    });
    this.#services.set(`${cluster}/${name}`, service);
  }

  /** The images that the tasks of a service run now, or would. */
  images(cluster: string, name: string): string[] {
    const service = this.#services.get(`${cluster}/${name}`);
    const definition = service && this.#taskDefinition(service.deployments[0]!.taskDefinition);
    return definition?.containerDefinitions.map((container: Document) => container.image) ?? [];
  }

  #deploy(service: Service, taskDefinition: string): void {
    const containers: Document[] = this.#taskDefinition(taskDefinition).containerDefinitions;
    const broken = containers.map(({ image }) => this.#options.broken(image)).find(Boolean);
    const fresh = { id: id(), taskDefinition, since: this.#options.now(), desired: service.desired };
    service.deployments.unshift({ ...fresh, ...(broken ? { broken } : {}) });
  }

  /** How many tasks of it run now, and how many have failed. */
  #progress(deployment: Deployment): { running: number; failures: number } {
    if (deployment.completed) return { running: deployment.desired, failures: 0 };
    const share = (this.#options.now() - deployment.since) / Math.max(1, this.#options.rolloutMs);
    const steps = Math.floor(share * Math.max(1, deployment.desired));
    return deployment.broken
      ? { running: 0, failures: steps }
      : { running: Math.min(deployment.desired, steps), failures: 0 };
  }

  /** Brings a service to where it has got by now. */
  #advance(service: Service): void {
    const [newest, ...older] = service.deployments;
    if (!newest || newest.completed || newest.failed) return;
    const { running, failures } = this.#progress(newest);
    const say = (message: string) =>
      service.events.unshift({ id: randomUUID(), createdAt: this.#options.now() / 1000, message });
    if (!newest.broken && running >= newest.desired) {
      newest.completed = this.#options.now();
      service.deployments = [newest];
      say(`(service ${service.name}) has reached a steady state.`);
    }
    const breaker = service.configuration.deploymentCircuitBreaker;
    if (newest.broken && breaker?.enable && failures >= FAILURES) {
      newest.failed = "ECS deployment circuit breaker: tasks failed to start.";
      say(
        `(service ${service.name}) (deployment ${newest.id}) deployment failed: tasks failed to start: ${newest.broken}`,
      );
      const last = older.find((deployment) => deployment.completed);
      if (breaker.rollback && last) this.#deploy(service, last.taskDefinition);
    }
  }

  #show(service: Service): Document {
    this.#advance(service);
    const deployments = service.deployments.map((deployment, index) => {
      const { running, failures } = this.#progress(deployment);
      const open = deployment.completed ? "COMPLETED" : "IN_PROGRESS";
      const state = deployment.failed ? "FAILED" : open;
      return {
        id: deployment.id,
        status: index === 0 ? "PRIMARY" : "ACTIVE",
        taskDefinition: deployment.taskDefinition,
        desiredCount: deployment.desired,
        runningCount: running,
        pendingCount: deployment.broken ? 0 : deployment.desired - running,
        failedTasks: failures,
        createdAt: deployment.since / 1000,
        updatedAt: (deployment.completed ?? this.#options.now()) / 1000,
        rolloutState: state,
        rolloutStateReason:
          deployment.failed ??
          `ECS deployment ${deployment.id} ${state === "COMPLETED" ? "completed" : "in progress"}.`,
      };
    });
    // The old tasks go as the new ones come; the service never has fewer than it wants.
    const running = Math.max(...deployments.map(({ runningCount }) => runningCount));
    return {
      serviceArn: this.#arn(`service/${service.cluster}/${service.name}`),
      serviceName: service.name,
      clusterArn: this.#arn(`cluster/${service.cluster}`),
      status: "ACTIVE",
      desiredCount: service.desired,
      runningCount: running,
      pendingCount: deployments[0]!.pendingCount,
      taskDefinition: deployments[0]!.taskDefinition,
      deploymentConfiguration: service.configuration,
      deployments,
      events: service.events.slice(0, 100),
    };
  }

  #cluster(name = "default"): string {
    if (!this.#clusters.has(short(name))) throw new AwsError("ClusterNotFoundException", "Cluster not found.");
    return short(name);
  }

  /** By `family`, `family:revision` or ARN. */
  #taskDefinition(name: string): Document {
    const [family = "", revision] = short(name).split(":");
    const revisions = this.#families.get(family) ?? [];
    const found = revision ? revisions[Number(revision) - 1] : revisions.at(-1);
    if (!found) throw new AwsError("ClientException", "Unable to describe task definition.");
    return found;
  }

  #arn = (what: string) => `arn:aws:ecs:${this.#options.region}:${this.#options.account}:${what}`;
}

const id = () => `ecs-svc/${Math.floor(Math.random() * 1e19)}`;
/** The last part of an ARN, or the name itself. */
const short = (name: string) => name.split("/").at(-1)!;
