import { createHash } from "node:crypto";

/**
 * Where credentials may be sent, and what protects them on the way, as text for each part. A part that is not set is left out.
 * Clients seal credentials together with this; the agent compares it with the specification before it writes them.
 */
export type Audience = Readonly<Record<string, string>>;
export type SealedCollection = "repositories" | "repositorycredentials" | "clusters";
type Json = Readonly<Record<string, unknown>>;

export interface Difference {
  /** The field of the specification, `githubApp/enterpriseBaseUrl` for one that lies deeper. */
  field: string;
  /** For people; holds no secret. */
  message: string;
}

/** How a part may change while the credentials stay. */
type Rule =
  /** Not at all. */
  | "same"
  /** It may go; a new value or another one needs the credentials again. */
  | "mayGo"
  /** It may only become longer: a longer prefix means fewer addresses. */
  | "mayGrow"
  /** Its items may only become more: each item is a host that avoids the proxy. */
  | "mayGain";

interface Part {
  rule: Rule;
  field: string;
  label: string;
  /** The value is a digest or says nothing to people. */
  hidden?: true;
  /** How the other side proves who it is. A specification that did not check this at all can only become stricter. */
  trust?: true;
}

const PARTS: Readonly<Record<string, Part>> = {
  scheme: { rule: "same", field: "url", label: "the scheme" },
  host: { rule: "same", field: "url", label: "the host" },
  port: { rule: "same", field: "url", label: "the port" },
  address: { rule: "same", field: "url", label: "the address" },
  prefix: { rule: "mayGrow", field: "url", label: "the path" },
  type: { rule: "same", field: "type", label: "`type`" },
  githubApp: { rule: "mayGo", field: "githubApp/enterpriseBaseUrl", label: "the sign-in of the GitHub App" },
  azure: {
    rule: "mayGo",
    field: "azureServicePrincipal/activeDirectoryEndpoint",
    label: "the sign-in of the service principal",
  },
  proxy: { rule: "mayGo", field: "proxy", label: "the proxy" },
  noProxy: { rule: "mayGain", field: "noProxy", label: "`noProxy`" },
  insecure: { rule: "mayGo", field: "insecure", label: "`insecure`" },
  forceHttp: { rule: "mayGo", field: "insecureOciForceHttp", label: "`insecureOciForceHttp`" },
  forceBasicAuth: { rule: "mayGo", field: "forceHttpBasicAuth", label: "`forceHttpBasicAuth`" },
  knownHosts: { rule: "mayGo", field: "sshKnownHosts", label: "`sshKnownHosts`", hidden: true, trust: true },
  ca: { rule: "same", field: "caData", label: "`caData`", hidden: true, trust: true },
  serverName: { rule: "mayGo", field: "serverName", label: "`serverName`", trust: true },
  signIn: { rule: "same", field: "exec", label: "the way to sign in" },
};
/** The same parts under the names that a cluster's specification has for them. */
const CLUSTER_FIELDS: Readonly<Record<string, string>> = { url: "server", proxy: "proxyUrl" };

/** The audience of credentials that are given with this specification. Fields that are left out count as their defaults. */
export function audienceOf(collection: SealedCollection, spec: Json): Audience {
  return defined(collection === "clusters" ? ofCluster(spec) : ofRepository(collection, spec));
}

function ofRepository(collection: SealedCollection, spec: Json): Record<string, string | undefined> {
  const { githubApp, azureServicePrincipal } = spec as Record<string, Json | undefined>;
  const address = addressOf(text(spec.url) ?? "");
  const { path, ...at } = address;
  return {
    ...at,
    prefix: collection === "repositorycredentials" ? path : undefined,
    type: text(spec.type) ?? "git",
    githubApp: githubApp && signInOf(text(githubApp.enterpriseBaseUrl) ?? "https://api.github.com"),
    azure:
      azureServicePrincipal &&
      signInOf(text(azureServicePrincipal.activeDirectoryEndpoint) ?? "https://login.microsoftonline.com"),
    proxy: text(spec.proxy),
    noProxy: text(spec.proxy) && text(spec.noProxy),
    insecure: flag(spec.insecure),
    forceHttp: flag(spec.insecureOciForceHttp),
    forceBasicAuth: flag(spec.forceHttpBasicAuth),
    knownHosts: address.scheme === "ssh" ? digestOf(text(spec.sshKnownHosts)) : undefined,
  };
}

function ofCluster(spec: Json): Record<string, string | undefined> {
  const { path: _, ...at } = addressOf(text(spec.server) ?? "");
  const insecure = flag(spec.insecure);
  const signIn = spec.awsAuth ? "awsAuth" : "exec";
  return {
    ...at,
    proxy: text(spec.proxyUrl),
    insecure,
    // An agent that does not check the certificate has no use for these.
    ca: insecure ? undefined : digestOf(text(spec.caData)),
    serverName: insecure ? undefined : text(spec.serverName),
    signIn: signsInByItself(spec) ? signIn : undefined,
  };
}

/** An agent that signs in to a cluster by itself keeps no credentials for it. */
export const signsInByItself = (spec: Json): boolean => Boolean(spec.awsAuth || spec.exec);

/** Whether none of the credentials that were kept survive this change: the key of an App that is taken out goes with it. */
export const keepsNothing = (before: Json, now: Json): boolean =>
  signsInByItself(before) ||
  signsInByItself(now) ||
  (["githubApp", "azureServicePrincipal"] as const).some((name) => before[name] && !now[name]);

/** In what `now` goes beyond `sealed`: other receivers, or less protection on the way. None means that the credentials may be used. */
export function beyond(collection: SealedCollection, sealed: Audience, now: Audience): Difference[] {
  const unchecked = sealed.insecure !== undefined;
  const names = [...new Set([...Object.keys(PARTS), ...Object.keys(sealed), ...Object.keys(now)])];
  return names.flatMap((name) => {
    // A part of a later version: nothing is known of it but whether it is the same.
    const part: Part = (Object.hasOwn(PARTS, name) && PARTS[name]) || { rule: "same", field: "", label: `\`${name}\`` };
    if (part.trust && unchecked) return [];
    const [from, to] = [partOf(sealed, name), partOf(now, name)];
    return allowed(part.rule, from, to, now) ? [] : [differenceOf(collection, part, from, to)];
  });
}

/** The names come from outside: `constructor` is one of them only where it was given. */
const partOf = (audience: Audience, name: string): string | undefined =>
  Object.hasOwn(audience, name) ? audience[name] : undefined;

function allowed(rule: Rule, from: string | undefined, to: string | undefined, now: Audience): boolean {
  switch (rule) {
    case "same":
      return from === to;
    case "mayGo":
      return to === undefined || from === to;
    case "mayGrow":
      return from === undefined ? to === undefined : to?.startsWith(from) === true;
    case "mayGain":
      return now.proxy === undefined || itemsOf(from).every((item) => itemsOf(to).includes(item));
  }
}

function differenceOf(
  collection: SealedCollection,
  part: Part,
  from: string | undefined,
  to: string | undefined,
): Difference {
  const field = (collection === "clusters" && CLUSTER_FIELDS[part.field]) || part.field;
  if (part.hidden) return { field, message: `${part.label} changed` };
  if (to === "true") return { field, message: `${part.label} was turned on` };
  return { field, message: `${part.label} changed from ${shown(from)} to ${shown(to)}` };
}

const shown = (value: string | undefined): string => (value === undefined ? "none" : value.slice(0, 256));

const USUAL_PORT: Readonly<Record<string, string>> = { http: "80", https: "443", ssh: "22", oci: "443" };
/** scp's short form: `git@host:path`. */
const SCP = /^(?:([A-Za-z0-9._-]+)@)?([^\s:/@]+):(?!\/\/)(.*)$/;

/** One spelling for all spellings of an address. A text that is no address is its own place. */
function addressOf(url: string): Record<string, string | undefined> & { scheme?: string; path?: string } {
  const trimmed = url.trim();
  const scp = trimmed.includes("://") ? null : SCP.exec(trimmed);
  const parsed = parse(scp ? `ssh://${scp[2]}/${scp[3]!.replace(/^\/+/, "")}` : trimmed);
  if (!parsed?.hostname) return { address: trimmed };
  const scheme = parsed.protocol.slice(0, -1);
  return {
    scheme,
    host: parsed.hostname.toLowerCase(),
    port: parsed.port || USUAL_PORT[scheme],
    path: prefixOf(parsed.pathname),
  };
}

/** A prefix as templates are matched by it: without `.git`; a slash at its end stays. */
function prefixOf(path: string): string {
  const bare = path.replace(/\/+$/, "").replace(/\.git$/, "");
  return /\/$/.test(path) && !bare.endsWith("/") ? `${bare}/` : bare || "/";
}

function signInOf(url: string): string {
  const parsed = parse(url);
  return parsed?.hostname
    ? `${parsed.protocol}//${parsed.host.toLowerCase()}${parsed.pathname.replace(/\/+$/, "")}`
    : url;
}

function parse(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

const digestOf = (value: string | undefined): string | undefined =>
  value === undefined
    ? undefined
    : createHash("sha256").update(value.replaceAll("\r\n", "\n").trim()).digest("base64url");
const itemsOf = (value: string | undefined): string[] =>
  (value ?? "").split(",").flatMap((item) => item.trim().toLowerCase() || []);
const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const flag = (value: unknown): string | undefined => (value === true ? "true" : undefined);
const defined = (parts: Record<string, string | undefined>): Audience =>
  Object.fromEntries(Object.entries(parts).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** The object that an envelope is bound to; an envelope moved to another object does not open. */
export interface SealContext {
  readonly account: string;
  readonly org?: string | undefined;
  readonly project?: string | undefined;
  readonly collection: SealedCollection;
  readonly id: string;
}

/** What is authenticated together with the credentials: the object, the envelope's own id, and where they may be sent. */
export function boundTo(context: SealContext, envelope: string, audience: Audience): string {
  const { account, org = "-", project = "-", collection, id } = context;
  const parts = Object.keys(audience)
    .sort()
    .map((name) => [name, audience[name]]);
  return JSON.stringify([account, org, project, collection, id, envelope, parts]);
}

export const SEAL_INFO = "outpost/credentials/v2";
