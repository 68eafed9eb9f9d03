import { environmentOf } from "./environment.ts";
import { DEFAULT_IMAGE, delegateName, type InstallValues } from "./values.ts";

/** Amazon's bound on a task definition. */
export const ECS_MAX_BYTES = 65_536;
/** On Fargate a task has at most two minutes to end. */
const STOP_SECONDS = 120;
const HEALTHY = "fetch('http://127.0.0.1:3460/healthz').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))";
const ROLE = "arn:aws:iam::ACCOUNT_ID:role/ecsTaskExecutionRole";

/** A task definition for Fargate and EC2: `aws ecs register-task-definition --cli-input-json file://FILE`. */
export function renderEcs(values: InstallValues): string {
  const { id, image = DEFAULT_IMAGE, imagePullSecret, caCertificate, initScript, token, existingSecret } = values;
  const env = environmentOf(values, {
    OUTPOST_WORK_DIR: "/var/lib/outpost",
    OUTPOST_CA_FILE: caCertificate === undefined ? undefined : "/etc/outpost/ca/ca.crt",
    OUTPOST_GRACE_SECONDS: String(STOP_SECONDS - 10),
    HOME: "/tmp",
    TOOLS: "/opt/outpost/tools",
    PATH: "/opt/outpost/tools/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  });
  const pairs = (list: [string, string][]) => list.map(([name, value]) => ({ name, value }));
  const mounts = { tmp: "/tmp", work: "/var/lib/outpost", tools: "/opt/outpost/tools", ca: "/etc/outpost/ca" };
  const used = Object.entries(mounts).filter(([name]) => name !== "ca" || caCertificate !== undefined);
  const mountPoints = (...readOnly: string[]) =>
    used.map(([sourceVolume, containerPath]) => ({
      sourceVolume,
      containerPath,
      readOnly: readOnly.includes(sourceVolume),
    }));
  const common = {
    image,
    readonlyRootFilesystem: true,
    ...(imagePullSecret === undefined ? {} : { repositoryCredentials: { credentialsParameter: imagePullSecret } }),
  };
  // New volumes are root's, and the delegate is not. Root owns them, so that it needs no capability for this.
  const prepare = ["chmod 1777 /tmp", "chmod 0777 /var/lib/outpost /opt/outpost/tools"];
  if (caCertificate !== undefined)
    prepare.push(`printf '%s\\n' "$CA" > /etc/outpost/ca/ca.crt`, "chmod 0644 /etc/outpost/ca/ca.crt");
  const drop = { capabilities: { drop: ["ALL"] } };
  const containers: object[] = [
    {
      name: "prepare",
      ...common,
      essential: false,
      user: "0",
      linuxParameters: drop,
      entryPoint: ["sh", "-e", "-c"],
      command: [prepare.join("\n")],
      environment: caCertificate === undefined ? [] : pairs([["CA", caCertificate.trimEnd()]]),
      mountPoints: mountPoints(),
    },
  ];
  const after = (containerName: string) => [{ containerName, condition: "SUCCESS" }];
  if (initScript !== undefined)
    containers.push({
      name: "init-script",
      ...common,
      essential: false,
      user: "1000:1000",
      linuxParameters: drop,
      dependsOn: after("prepare"),
      entryPoint: ["sh", "-e", "-c"],
      command: [initScript],
      environment: pairs(env),
      mountPoints: mountPoints("ca"),
    });
  containers.push({
    name: "delegate",
    ...common,
    essential: true,
    user: "1000:1000",
    command: ["delegate"],
    dependsOn: after(initScript === undefined ? "prepare" : "init-script"),
    environment: pairs(token === undefined ? env : [...env, ["DELEGATE_TOKEN", token]]),
    // A parameter of the Parameter Store goes by its name; a secret of the Secrets Manager only by its whole ARN.
    secrets:
      token === undefined
        ? [
            {
              name: "DELEGATE_TOKEN",
              valueFrom: existingSecret ?? `arn:aws:secretsmanager:REGION:ACCOUNT_ID:secret:${delegateName(id)}-SUFFIX`,
            },
          ]
        : [],
    mountPoints: mountPoints("tools", "ca"),
    linuxParameters: { initProcessEnabled: true, ...drop },
    stopTimeout: STOP_SECONDS,
    healthCheck: { command: ["CMD", "node", "-e", HEALTHY], interval: 30, timeout: 10, retries: 3, startPeriod: 60 },
  });
  const definition = {
    family: delegateName(id),
    requiresCompatibilities: ["FARGATE", "EC2"],
    networkMode: "awsvpc",
    cpu: "1024",
    memory: "2048",
    // Who reads the secrets for it. What tasks may do in AWS is its task role, which is yours to add.
    ...(token === undefined || imagePullSecret !== undefined ? { executionRoleArn: ROLE } : {}),
    volumes: used.map(([name]) => ({ name })),
    containerDefinitions: containers,
  };
  return `${JSON.stringify(definition, null, 2)}\n`;
}
