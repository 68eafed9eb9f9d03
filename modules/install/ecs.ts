import { environmentOf } from "./environment.ts";
import { DEFAULT_IMAGE, delegateName, type InstallValues } from "./values.ts";

/** Amazon's bound on a task definition. */
export const ECS_MAX_BYTES = 65_536;
/** On Fargate a task has at most two minutes to end. */
const STOP_SECONDS = 120;
const HEALTHY = "fetch('http://127.0.0.1:3460/healthz').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))";
const ROLE = "arn:aws:iam::ACCOUNT_ID:role/ecsTaskExecutionRole";

const FOLDERS = { tmp: "/tmp", work: "/var/lib/outpost", tools: "/opt/outpost/tools", ca: "/etc/outpost/ca" };
const DROP = { capabilities: { drop: ["ALL"] } };

/** A task definition for Fargate and EC2: `aws ecs register-task-definition --cli-input-json file://FILE`. */
export function renderEcs(values: InstallValues): string {
  const { id, imagePullSecret, token } = values;
  const definition = {
    family: delegateName(id),
    requiresCompatibilities: ["FARGATE", "EC2"],
    networkMode: "awsvpc",
    cpu: "1024",
    memory: "2048",
    // Who reads the secrets for it. What tasks may do in AWS is its task role, which is yours to add.
    ...(token === undefined || imagePullSecret !== undefined ? { executionRoleArn: ROLE } : {}),
    volumes: foldersOf(values).map(([name]) => ({ name })),
    containerDefinitions: [prepare(values), ...initScript(values), delegate(values)],
  };
  return `${JSON.stringify(definition, null, 2)}\n`;
}

const foldersOf = ({ caCertificate }: InstallValues) =>
  Object.entries(FOLDERS).filter(([name]) => name !== "ca" || caCertificate !== undefined);

const mountPoints = (values: InstallValues, ...readOnly: string[]) =>
  foldersOf(values).map(([sourceVolume, containerPath]) => ({
    sourceVolume,
    containerPath,
    readOnly: readOnly.includes(sourceVolume),
  }));

const common = ({ image = DEFAULT_IMAGE, imagePullSecret }: InstallValues) => ({
  image,
  readonlyRootFilesystem: true,
  ...(imagePullSecret === undefined ? {} : { repositoryCredentials: { credentialsParameter: imagePullSecret } }),
});

const environment = (values: InstallValues) =>
  environmentOf(values, {
    OUTPOST_WORK_DIR: "/var/lib/outpost",
    OUTPOST_CA_FILE: values.caCertificate === undefined ? undefined : "/etc/outpost/ca/ca.crt",
    OUTPOST_GRACE_SECONDS: String(STOP_SECONDS - 10),
    HOME: "/tmp",
    TOOLS: "/opt/outpost/tools",
    PATH: "/opt/outpost/tools/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  });

const pairs = (list: [string, string][]) => list.map(([name, value]) => ({ name, value }));
const after = (containerName: string) => [{ containerName, condition: "SUCCESS" }];

/** New volumes are root's, and the delegate is not. Root owns them, so that it needs no capability for this. */
function prepare(values: InstallValues) {
  const { caCertificate } = values;
  const commands = ["chmod 1777 /tmp", "chmod 0777 /var/lib/outpost /opt/outpost/tools"];
  if (caCertificate !== undefined)
    commands.push(`printf '%s\\n' "$CA" > /etc/outpost/ca/ca.crt`, "chmod 0644 /etc/outpost/ca/ca.crt");
  return {
    name: "prepare",
    ...common(values),
    essential: false,
    user: "0",
    linuxParameters: DROP,
    entryPoint: ["sh", "-e", "-c"],
    command: [commands.join("\n")],
    environment: caCertificate === undefined ? [] : pairs([["CA", caCertificate.trimEnd()]]),
    mountPoints: mountPoints(values),
  };
}

/** The user's script, which runs once before the delegate. */
const initScript = (values: InstallValues): object[] =>
  values.initScript === undefined
    ? []
    : [
        {
          name: "init-script",
          ...common(values),
          essential: false,
          user: "1000:1000",
          linuxParameters: DROP,
          dependsOn: after("prepare"),
          entryPoint: ["sh", "-e", "-c"],
          command: [values.initScript],
          environment: pairs(environment(values)),
          mountPoints: mountPoints(values, "ca"),
        },
      ];

function delegate(values: InstallValues) {
  const { id, token, existingSecret } = values;
  const env = environment(values);
  // A parameter of the Parameter Store goes by its name; a secret of the Secrets Manager only by its whole ARN.
  const valueFrom = existingSecret ?? `arn:aws:secretsmanager:REGION:ACCOUNT_ID:secret:${delegateName(id)}-SUFFIX`;
  return {
    name: "delegate",
    ...common(values),
    essential: true,
    user: "1000:1000",
    command: ["delegate"],
    dependsOn: after(values.initScript === undefined ? "prepare" : "init-script"),
    environment: pairs(token === undefined ? env : [...env, ["DELEGATE_TOKEN", token]]),
    secrets: token === undefined ? [{ name: "DELEGATE_TOKEN", valueFrom }] : [],
    mountPoints: mountPoints(values, "tools", "ca"),
    linuxParameters: { initProcessEnabled: true, ...DROP },
    stopTimeout: STOP_SECONDS,
    healthCheck: { command: ["CMD", "node", "-e", HEALTHY], interval: 30, timeout: 10, retries: 3, startPeriod: 60 },
  };
}
