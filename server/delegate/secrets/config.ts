import { done, type Outcome, stop } from "../../base/outcome.ts";
import type { AwsConfig } from "./aws.ts";
import type { Credential } from "./credential.ts";
import { SCOPE_ENTRY, type SourceScopes } from "./scopes.ts";
import type { VaultAuth, VaultConfig } from "./vault.ts";

/** A source of the delegate's configuration file, under the name that references give. */
export type SourceConfig =
  | ({ type: "vault" } & VaultConfig)
  | ({ type: "aws-secrets-manager" } & AwsConfig)
  | { type: "kubernetes"; kubeconfig: string; context?: string | undefined };

const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const BUILT_IN = ["env", "file"];
const MOST = 32;
const MOST_PATHS = 256;
const MOST_SCOPES = 256;

class Wrong extends Error {}

export interface Sources {
  sources: Map<string, SourceConfig>;
  /** For which scopes each is; a source that says nothing is for the delegate's own alone. */
  scopes: Map<string, SourceScopes>;
}

/** Reads `sources:`; errors name the path in the file. */
export function readSources(value: unknown, path = "sources"): Outcome<Sources> {
  try {
    const all = record(value ?? {}, path);
    if (Object.keys(all).length > MOST) throw new Wrong(`${path}: at most ${MOST} sources`);
    const read: Sources = { sources: new Map(), scopes: new Map() };
    for (const [name, given] of Object.entries(all)) {
      const at = `${path}.${name}`;
      const { scopes, paths, ...rest } = record(given, at);
      const access = scopesOf({ scopes, paths }, at);
      const ofCluster = rest.type === "kubernetes" || (name === "kubernetes" && rest.type === undefined);
      if (access) read.scopes.set(name, ofCluster ? byNamespace(access) : access);
      // The delegate has these by itself; here only their scopes are said.
      const builtIn = BUILT_IN.includes(name) || (name === "kubernetes" && rest.type === undefined);
      if (builtIn && access && Object.keys(rest).length === 0) continue;
      read.sources.set(named(name, path), sourceOf(rest, at));
    }
    return done(read);
  } catch (error) {
    if (error instanceof Wrong) return stop("SettingInvalid", error.message);
    throw error;
  }
}

function scopesOf({ scopes, paths }: { scopes?: unknown; paths?: unknown }, path: string): SourceScopes | undefined {
  if (scopes !== undefined && paths !== undefined)
    throw new Wrong(`${path}: give \`scopes\` for all of it, or \`paths\` with scopes for each`);
  if (scopes !== undefined) return { scopes: entries(scopes, `${path}.scopes`) };
  if (paths === undefined) return undefined;
  const given = Object.entries(record(paths, `${path}.paths`));
  if (given.length > MOST_PATHS) throw new Wrong(`${path}.paths: at most ${MOST_PATHS} paths`);
  const read = given.map(([at, one]) => {
    const place = `${path}.paths.${at}`;
    if (at === "" || at.length > 512 || at.startsWith("/") || at.endsWith("/"))
      throw new Wrong(`${place}: must be a path without / at its ends`);
    const { scopes: listed } = members(one, place, ["scopes"]);
    return [at, entries(listed, `${place}.scopes`)] as const;
  });
  return { paths: Object.fromEntries(read) };
}

/** A namespace is what stands before the slash: a Secret of that name, in the namespace that is meant without one, is not in it. */
function byNamespace(access: SourceScopes): SourceScopes {
  if (!("paths" in access)) return access;
  return {
    paths: Object.fromEntries(
      Object.entries(access.paths).map(([at, listed]) => [at.includes("/") ? at : `${at}/`, listed]),
    ),
  };
}

function entries(value: unknown, path: string): string[] {
  const right =
    Array.isArray(value) &&
    value.length <= MOST_SCOPES &&
    value.every((one) => typeof one === "string" && SCOPE_ENTRY.test(one));
  if (!right)
    throw new Wrong(
      `${path}: must be a list of at most ${MOST_SCOPES} scopes: ORG, ORG/PROJECT, or "*" for all that the delegate serves`,
    );
  return value;
}

function named(name: string, path: string): string {
  if (BUILT_IN.includes(name))
    throw new Wrong(`${path}.${name}: this name is the delegate's own: only scopes or paths can be given for it`);
  if (!NAME.test(name))
    throw new Wrong(`${path}.${name}: a name has lower-case letters, digits and - only, at most 63`);
  return name;
}

function sourceOf(value: unknown, path: string): SourceConfig {
  const { type } = record(value, path);
  switch (type) {
    case "vault": {
      const given = members(value, path, ["type", "address", "namespace", "kv", "caFile", "auth"]);
      const kv = given.kv;
      if (kv !== undefined && kv !== 1 && kv !== 2) throw new Wrong(`${path}.kv: must be 1 or 2`);
      const [address, namespace, caFile] = [
        url(given.address, `${path}.address`),
        optional(given, path, "namespace"),
        optional(given, path, "caFile"),
      ];
      return { type, address, namespace, kv, caFile, auth: authOf(given.auth, `${path}.auth`) };
    }
    case "aws-secrets-manager": {
      const names = ["region", "profile", "roleArn", "externalId", "endpoint", "stsEndpoint", "caFile"] as const;
      const given = members(value, path, ["type", ...names]);
      for (const name of ["endpoint", "stsEndpoint"])
        if (given[name] !== undefined) url(given[name], `${path}.${name}`);
      const region = text(given.region, `${path}.region`);
      return { type, ...Object.fromEntries(names.map((name) => [name, optional(given, path, name)])), region };
    }
    case "kubernetes": {
      const given = members(value, path, ["type", "kubeconfig", "context"]);
      return {
        type,
        kubeconfig: text(given.kubeconfig, `${path}.kubeconfig`),
        context: optional(given, path, "context"),
      };
    }
    default:
      throw new Wrong(`${path}.type: must be vault, aws-secrets-manager or kubernetes`);
  }
}

function authOf(value: unknown, path: string): VaultAuth {
  const ways = members(value, path, ["token", "kubernetes", "appRole"]);
  if (Object.keys(ways).length !== 1) throw new Wrong(`${path}: exactly one of token, kubernetes and appRole`);
  if ("token" in ways) return { token: credential(ways.token, `${path}.token`) };
  if ("kubernetes" in ways) {
    const at = `${path}.kubernetes`;
    const given = members(ways.kubernetes, at, ["role", "mount", "tokenFile"]);
    const [mount, tokenFile] = [mountOf(given, at), optional(given, at, "tokenFile")];
    return {
      kubernetes: {
        role: text(given.role, `${at}.role`),
        ...(mount ? { mount } : {}),
        ...(tokenFile ? { tokenFile } : {}),
      },
    };
  }
  const at = `${path}.appRole`;
  const given = members(ways.appRole, at, ["roleId", "secretId", "mount"]);
  const mount = mountOf(given, at);
  return {
    appRole: {
      roleId: text(given.roleId, `${at}.roleId`),
      secretId: credential(given.secretId, `${at}.secretId`),
      ...(mount ? { mount } : {}),
    },
  };
}

function mountOf(given: Record<string, unknown>, path: string): string | undefined {
  const mount = optional(given, path, "mount");
  if (mount !== undefined && !/^[\w-]+(\/[\w-]+)*$/.test(mount))
    throw new Wrong(`${path}.mount: a path without / at its ends`);
  return mount;
}

function credential(value: unknown, path: string): Credential {
  if (typeof value === "string")
    throw new Wrong(`${path}: the credential itself must not stand here; give {file: …} or {env: …}`);
  const given = members(value, path, ["file", "env"]);
  if (Object.keys(given).length !== 1) throw new Wrong(`${path}: exactly one of file and env`);
  return "file" in given ? { file: text(given.file, `${path}.file`) } : { env: text(given.env, `${path}.env`) };
}

function members(value: unknown, path: string, allowed: readonly string[]): Record<string, unknown> {
  const given = record(value, path);
  const other = Object.keys(given).find((name) => !allowed.includes(name));
  if (other !== undefined) throw new Wrong(`${path}.${other}: is not known; there are ${allowed.join(", ")}`);
  return given;
}

function record(value: unknown, path: string): Record<string, unknown> {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new Wrong(`${path}: must be a mapping`);
  return value as Record<string, unknown>;
}

function text(value: unknown, path: string): string {
  if (typeof value !== "string" || value === "" || value.length > 2_048) throw new Wrong(`${path}: must be a text`);
  return value;
}

const optional = (given: Record<string, unknown>, path: string, name: string): string | undefined =>
  given[name] === undefined ? undefined : text(given[name], `${path}.${name}`);

function url(value: unknown, path: string): string {
  const given = text(value, path);
  if (!/^https?:\/\/[^\s@?#]+$/.test(given) || !URL.canParse(given))
    throw new Wrong(`${path}: must be http(s)://host[:port][/path], without a user`);
  return given;
}

/** Files that hold credentials of the sources. */
export function credentialFiles(sources: ReadonlyMap<string, SourceConfig>): string[] {
  return [...sources.values()].flatMap((source) => {
    if (source.type === "kubernetes") return [source.kubeconfig];
    if (source.type !== "vault") return [];
    const { auth } = source;
    const secretId = "appRole" in auth ? auth.appRole.secretId : undefined;
    const credential = "token" in auth ? auth.token : secretId;
    return credential && "file" in credential ? [credential.file] : [];
  });
}
