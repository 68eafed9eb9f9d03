import { createServer, type IncomingMessage } from "node:http";
import { CodeCommit } from "./aws/codecommit.ts";
import { Ecs } from "./aws/ecs.ts";
import { AwsError, type Operation } from "./aws/errors.ts";
import { verify } from "./aws/sigv4.ts";
import { type Role, type Session, sts, UNSIGNED } from "./aws/sts.ts";
import { answer, type Call, parse } from "./aws/wire.ts";

/**
 * A part of AWS on loopback, as its SDKs and the CLI speak to it: STS (query protocol), ECR, ECS, CodeCommit, tags and
 * Secrets Manager (JSON 1.1). Every request's signature is checked by code of the test's own: a wrong secret, an unknown key, a changed
 * body or header, a clock off by more than 15 minutes and an expired session are refused as AWS refuses them.
 *
 *   const aws = await startAws({ users: { AKIATEST: { secretAccessKey: "…" } } });
 *   aws.ecs.addService("prod", "web", { family: "web", containerDefinitions: [{ name: "app", image: "app:1" }] }, 2);
 *   aws.secrets.set("db/password", "hunter2");
 *   new ECSClient({ endpoint: aws.url, region: "eu-central-1" }), or AWS_ENDPOINT_URL=aws.url for a child.
 */
export interface Aws {
  /** `http://127.0.0.1:PORT`: the endpoint of every service. */
  readonly url: string;
  readonly account: string;
  readonly region: string;
  /** Services and task definitions: `addService`, `register`, `images`. */
  readonly ecs: Ecs;
  /** Repositories, and what their branches hold. */
  readonly codecommit: CodeCommit;
  /** Name → value, of Secrets Manager. Bytes are a SecretBinary. */
  readonly secrets: Map<string, string | Uint8Array>;
  /** Every request whose signature was right, in order; a `code` tells that it was refused later. */
  readonly requests: AwsRequest[];
  /** Signatures that were refused: why. */
  readonly refused: string[];
  /** The next `times` calls of an action fail so: `fail("ecs:UpdateService", { code: "ThrottlingException", times: 2 })`. */
  fail(action: string, fault: { code: string; message?: string; status?: number; times?: number }): void;
  /** Ends a session or a user's key, as an expired or revoked one. */
  revoke(accessKeyId: string): void;
  stop(): Promise<void>;
}

export interface AwsRequest {
  /** `ecs:UpdateService` */
  action: string;
  accessKeyId: string;
  /** The user's or the assumed role's ARN. */
  arn: string;
  region: string;
  // biome-ignore lint/suspicious/noExplicitAny: as it came.
  input: Record<string, any>;
  code?: string;
}

export interface AwsOptions {
  /** Access key id → its user; `deny` lists actions refused with AccessDenied. */
  users?: Record<string, { secretAccessKey: string; name?: string; deny?: string[] }>;
  /** Role ARN → who may assume it. */
  roles?: Record<string, Role>;
  /** The only region it is in; default eu-central-1. */
  region?: string;
  account?: string;
  /** What ECR's token opens, for a registry with `users: { AWS: password }`: its URL and that password. */
  registry?: { url: string; password: string };
  /** How long a rollout takes; default 200 ms. */
  rolloutMs?: number;
  /** Why a container with this image would not start. */
  broken?(image: string): string | undefined;
  /** The service's clock. */
  now?(): number;
}

const MAX_BODY = 1 << 20;

export async function startAws(options: AwsOptions = {}): Promise<Aws> {
  const {
    users = {},
    roles = {},
    region = "eu-central-1",
    account = "123456789012",
    registry,
    now = Date.now,
  } = options;
  const sessions = new Map<string, Session>();
  for (const [id, { secretAccessKey, name = "test", deny = [] }] of Object.entries(users))
    sessions.set(id, { secretAccessKey, arn: `arn:aws:iam::${account}:user/${name}`, deny });
  const ecs = new Ecs({
    account,
    region,
    now,
    rolloutMs: options.rolloutMs ?? 200,
    broken: options.broken ?? (() => undefined),
  });
  const codecommit = new CodeCommit({ account, region });
  const secrets: Aws["secrets"] = new Map();
  const services: Record<string, Record<string, Operation>> = {
    sts: sts({ account, now, roles, sessions }),
    ecs: ecs.operations,
    codecommit: codecommit.operations,
    tagging: codecommit.tagging,
    ecr: {
      GetAuthorizationToken: () => {
        if (!registry) throw new AwsError("ServerException", "No registry was given to startAws", 500);
        const authorizationToken = Buffer.from(`AWS:${registry.password}`).toString("base64");
        return {
          authorizationData: [{ authorizationToken, expiresAt: now() / 1000 + 12 * 3600, proxyEndpoint: registry.url }],
        };
      },
    },
    secretsmanager: {
      GetSecretValue: ({ SecretId }) => {
        const [, name] =
          /^(?:arn:aws:secretsmanager:[^:]+:\d+:secret:)?(.*?)(?:-[A-Za-z0-9]{6})?$/s.exec(SecretId) ?? [];
        const Name = secrets.has(SecretId) ? SecretId : name!;
        const value = secrets.get(Name);
        if (value === undefined)
          throw new AwsError("ResourceNotFoundException", "Secrets Manager can't find the specified secret.");
        return {
          ARN: `arn:aws:secretsmanager:${region}:${account}:secret:${Name}-abcdef`,
          Name,
          VersionId: "11111111-1111-4111-8111-111111111111",
          VersionStages: ["AWSCURRENT"],
          CreatedDate: now() / 1000,
          ...(typeof value === "string"
            ? { SecretString: value }
            : { SecretBinary: Buffer.from(value).toString("base64") }),
        };
      },
    },
  };
  const faults: { action: string; error: AwsError; times: number }[] = [];
  const requests: AwsRequest[] = [];
  const refused: string[] = [];

  const handle = (request: IncomingMessage, body: Buffer, { service, operation, input, query }: Call) => {
    let caller = { accessKeyId: "", arn: "anonymous", deny: [] as string[] };
    if (operation !== UNSIGNED) {
      const seen = { method: request.method ?? "", target: request.url ?? "/", headers: request.headers, body };
      const verdict = verify(seen, (id) => sessions.get(id), now());
      const problem = "refused" in verdict ? verdict : misplaced(verdict, { service, region });
      if (problem) {
        refused.push(`${service}:${operation}: ${problem.refused}: ${problem.message}`);
        throw new AwsError(CODES[problem.refused]![query ? 1 : 0]!, problem.message, query ? 403 : 400);
      }
      const { accessKeyId } = verdict as { accessKeyId: string };
      const session = sessions.get(accessKeyId)!;
      caller = { accessKeyId, arn: session.arn, deny: session.deny };
    }
    const action = `${service}:${operation}`;
    const record: AwsRequest = { action, accessKeyId: caller.accessKeyId, arn: caller.arn, region, input };
    requests.push(record);
    try {
      const fault = faults.find((f) => f.action === action && f.times-- > 0);
      if (fault) throw fault.error;
      if (caller.deny.includes(action)) {
        const message = `User: ${caller.arn} is not authorized to perform: ${action} because no identity-based policy allows the ${action} action`;
        throw new AwsError(query ? "AccessDenied" : "AccessDeniedException", message, query ? 403 : 400);
      }
      const run = services[service]?.[operation];
      if (!run) throw new AwsError(query ? "InvalidAction" : "UnknownOperationException", `${action} is not here`);
      return run(input, caller);
    } catch (error) {
      record.code = error instanceof AwsError ? error.code : "InternalFailure";
      throw error;
    }
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_BODY) request.destroy();
      else chunks.push(chunk);
    });
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const call = parse(request, body);
      try {
        answer(response, call, 200, handle(request, body, call));
      } catch (error) {
        const { code, message, status } =
          error instanceof AwsError ? error : new AwsError("InternalFailure", String(error), 500);
        answer(response, call, status, { __type: code, message });
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    account,
    region,
    ecs,
    codecommit,
    secrets,
    requests,
    refused,
    fail: (action, { code, message = code, status = 400, times = 1 }) =>
      void faults.push({ action, error: new AwsError(code, message, status), times }),
    revoke: (accessKeyId) => void sessions.delete(accessKeyId),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What AWS calls a refused signature: by services that speak JSON, and by those that speak the query protocol. */
const CODES: Record<string, [string, string]> = {
  missing: ["MissingAuthenticationTokenException", "MissingAuthenticationToken"],
  malformed: ["IncompleteSignatureException", "IncompleteSignature"],
  "unknown key": ["UnrecognizedClientException", "InvalidClientTokenId"],
  "wrong token": ["UnrecognizedClientException", "InvalidClientTokenId"],
  "expired token": ["ExpiredTokenException", "ExpiredToken"],
  skewed: ["InvalidSignatureException", "SignatureDoesNotMatch"],
  "wrong signature": ["InvalidSignatureException", "SignatureDoesNotMatch"],
};

interface Scope {
  service: string;
  region: string;
}

function misplaced(signed: Scope, { service, region }: Scope) {
  if (signed.service === service && signed.region === region) return undefined;
  const message = `Credential should be scoped to ${service} in ${region}, not ${signed.service} in ${signed.region}.`;
  return { refused: "malformed" as const, message };
}
