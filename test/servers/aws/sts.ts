import { randomBytes } from "node:crypto";
import { AwsError, type Operation } from "./errors.ts";
import type { Credential } from "./sigv4.ts";

export interface Role {
  /** Access key ids or ARNs that may assume it; default: everybody with a key here. */
  trusts?: string[];
  externalId?: string;
  /** A web identity token that may be exchanged for it, as a service account's in EKS. */
  webIdentity?: string;
  /** Actions that are refused with AccessDenied: `ecs:UpdateService`. */
  deny?: string[];
}

export interface Session extends Credential {
  arn: string;
  deny: string[];
}

export interface StsOptions {
  account: string;
  now(): number;
  roles: Record<string, Role>;
  sessions: Map<string, Session>;
}

const HOUR = 3600;

/** Sessions of assumed roles, which expire. */
export function sts({ account, now, roles, sessions }: StsOptions): Record<string, Operation> {
  const open = (input: Record<string, string>, role: Role) => {
    const [, name] = /^arn:aws:iam::\d+:role\/(?:.*\/)?([^/]+)$/.exec(input.RoleArn ?? "") ?? [];
    const seconds = Number(input.DurationSeconds ?? HOUR);
    if (!/^[\w+=,.@-]{2,64}$/.test(input.RoleSessionName ?? ""))
      throw new AwsError("ValidationError", "RoleSessionName failed to satisfy constraint");
    if (!(seconds >= 900 && seconds <= 12 * HOUR))
      throw new AwsError("ValidationError", "DurationSeconds must be from 900 to 43200");
    const accessKeyId = `ASIA${randomBytes(8).toString("hex").toUpperCase()}`;
    const arn = `arn:aws:sts::${account}:assumed-role/${name}/${input.RoleSessionName}`;
    const session = {
      arn,
      deny: role.deny ?? [],
      secretAccessKey: randomBytes(30).toString("base64"),
      sessionToken: randomBytes(96).toString("base64"),
      expires: now() + seconds * 1000,
    };
    sessions.set(accessKeyId, session);
    return {
      Credentials: {
        AccessKeyId: accessKeyId,
        SecretAccessKey: session.secretAccessKey,
        SessionToken: session.sessionToken,
        Expiration: new Date(session.expires).toISOString(),
      },
      AssumedRoleUser: { Arn: arn, AssumedRoleId: `AROATEST:${input.RoleSessionName}` },
    };
  };
  return {
    GetCallerIdentity: (_, { arn, accessKeyId }) => ({ Arn: arn, UserId: accessKeyId, Account: account }),
    AssumeRole: (input, { arn, accessKeyId }) => {
      const role = roles[input.RoleArn];
      const trusted = role && (!role.trusts || role.trusts.includes(arn) || role.trusts.includes(accessKeyId));
      if (!trusted || role.externalId !== input.ExternalId) {
        throw new AwsError(
          "AccessDenied",
          `User: ${arn} is not authorized to perform: sts:AssumeRole on resource: ${input.RoleArn}`,
          403,
        );
      }
      return open(input, role);
    },
    AssumeRoleWithWebIdentity: (input) => {
      const role = roles[input.RoleArn];
      if (!role?.webIdentity || role.webIdentity !== input.WebIdentityToken)
        throw new AwsError("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity", 403);
      return { ...open(input, role), Provider: "test", SubjectFromWebIdentityToken: "test" };
    },
  };
}

/** The one operation that is not signed. */
export const UNSIGNED = "AssumeRoleWithWebIdentity";
