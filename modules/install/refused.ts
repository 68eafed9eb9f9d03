/** What a format has no place for is refused by name, with what to do instead, before anything is made. */
import { ECS_MAX_BYTES, renderEcs } from "./ecs.ts";
import type { InstallValues } from "./values.ts";

export type DelegateFormat = "kubernetes" | "helm-values" | "docker" | "ecs" | "shell" | "powershell";
export interface Refused {
  /** Its name in the request. */
  field: keyof InstallValues | "withToken";
  why: string;
}

type Given = Omit<InstallValues, "namespace"> & { namespace?: string };
type Field = keyof InstallValues;

const MACHINE = "This format installs on one machine";
const PARTS: Record<Exclude<DelegateFormat, "kubernetes" | "helm-values">, Partial<Record<Field, string>>> = {
  docker: {
    namespace: "Docker has no namespaces: leave it out, or use the format kubernetes.",
    permissions: "Permissions are rights in a Kubernetes cluster: leave it out, or use the format kubernetes.",
    imagePullSecret: "Docker pulls with the sign-in of the machine: run `docker login` there and leave this out.",
    existingSecret:
      "Docker has no secrets outside of a swarm: use `withToken: false` and give the token to the script in DELEGATE_TOKEN.",
  },
  ecs: {
    namespace: "A task definition has no namespace: leave it out, or use the format kubernetes.",
    permissions: "Permissions are rights in a Kubernetes cluster: in ECS give the task a role (`taskRoleArn`).",
    replicas: "A task definition has no number of tasks: give `--desired-count` to `aws ecs create-service`.",
  },
  shell: {
    namespace: `${MACHINE}, which has no namespaces: leave it out.`,
    permissions: `${MACHINE}: tasks have the rights of the user it runs as (\`--user\`).`,
    replicas: `${MACHINE}, where one delegate runs many tasks: raise \`capacity\` of the delegate, or install on more machines.`,
    image: `${MACHINE}, without an image: give the program to the installer by \`--from\`.`,
    imagePullSecret: `${MACHINE}, without an image: leave it out.`,
    existingSecret: `${MACHINE}, which has no Secrets: use \`withToken: false\` and give the installer \`--token-file\`.`,
  },
  powershell: {
    namespace: `${MACHINE}, which has no namespaces: leave it out.`,
    permissions: `${MACHINE}: tasks have the rights of the account that the service runs as.`,
    replicas: `${MACHINE}, where one delegate runs many tasks: raise \`capacity\` of the delegate, or install on more machines.`,
    image: `${MACHINE}, without an image: give the program to the installer by \`-From\`.`,
    imagePullSecret: `${MACHINE}, without an image: leave it out.`,
    existingSecret: `${MACHINE}, which has no Secrets: use \`withToken: false\` and give the installer \`-TokenFile\`.`,
  },
};
const ONLY_AGENTS = ["shards", "shardBy", "scmProviders"] as const;
const ONLY_DELEGATES = ["existingSecret", "namespace", "replicas", "permissions", "initScript"] as const;

/** `given` is what the request named: defaults are not refused. */
export function refusedForDelegate(format: DelegateFormat, given: Given): Refused | undefined {
  if (given.redisImage !== undefined) return { field: "redisImage", why: "A delegate has no Redis: leave it out." };
  for (const field of ONLY_AGENTS)
    if (given[field] !== undefined)
      return { field, why: "It is about the controller of an agent: a delegate has none, leave it out." };
  const parts: Partial<Record<Field, string>> =
    format === "kubernetes" || format === "helm-values" ? {} : PARTS[format];
  for (const [field, why] of Object.entries(parts))
    if (given[field as Field] !== undefined) return { field: field as Field, why };
  const malformed = wrong(given);
  if (malformed) return malformed;
  const { initScript } = given;
  if (
    format === "ecs" &&
    initScript !== undefined &&
    Buffer.byteLength(renderEcs({ ...given, namespace: "" })) > ECS_MAX_BYTES
  )
    return {
      field: "initScript",
      why: "A task definition takes 64 KiB in all, and this is longer: put the tools into an image of yours instead.",
    };
  return undefined;
}

export function refusedForAgent(
  what: "manifest" | "values",
  given: Partial<InstallValues>,
  withToken: boolean,
): Refused | undefined {
  for (const field of ONLY_DELEGATES)
    if (given[field] !== undefined) return { field, why: "Only delegates have it: leave it out." };
  if (!withToken && what === "manifest")
    return {
      field: "withToken",
      why: "An agent's manifest holds passwords that are drawn from the token: ask for the Helm values instead.",
    };
  return wrong(given);
}

const ONLY_OUR_ENGINE = ["shards", "shardBy", "scmProviders", "redisImage"] as const;

/** What an agent beside an Argo CD has no place for. */
export function refusedForEngine(given: Partial<InstallValues>): Refused | undefined {
  if (given.engine !== "argocd") return undefined;
  const field = ONLY_OUR_ENGINE.find((one) => given[one] !== undefined);
  return (
    field && {
      field,
      why: "The agent's engine is Argo CD, so no controller, repo server or Redis of Outpost is installed: leave it out.",
    }
  );
}

/** Fields that end in commands and files of variables. */
function wrong({
  image,
  redisImage,
  httpsProxy,
  noProxy,
  caCertificate,
  initScript,
}: Partial<InstallValues>): Refused | undefined {
  for (const [field, value] of Object.entries({ image, redisImage }))
    if (value !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/.test(value))
      return { field: field as Field, why: "An image is registry/repository:tag, or with @sha256:… at its end." };
  if (httpsProxy !== undefined && !/^https?:\/\/[!-~]+$/.test(httpsProxy))
    return { field: "httpsProxy", why: "A proxy is an http:// or https:// address." };
  if (noProxy !== undefined && !/^[ -~]*$/.test(noProxy))
    return { field: "noProxy", why: "Give hosts and networks on one line, with commas between." };
  if (caCertificate !== undefined && !/^[\t\r\n -~]*-----BEGIN CERTIFICATE-----[\t\r\n -~]*$/.test(caCertificate))
    return { field: "caCertificate", why: "This is the text of a PEM file, with -----BEGIN CERTIFICATE----- in it." };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
  if (initScript !== undefined && /\u0000/.test(initScript))
    return { field: "initScript", why: "A script has no NUL characters." };
  return undefined;
}
