import { readJson } from "../../base/json/nesting.ts";
import { Secret } from "../../base/secret.ts";
import type { LookRequest, RenderRequest, RepoAccess, RevisionRequest, SourceAccess, SurveyRequest } from "./types.ts";

/** What a client asks. Secrets are written out here and nowhere else: the text leaves the process only sealed. */
export type Call =
  | { call: "render"; request: RenderRequest }
  | { call: "refs"; repo: RepoAccess }
  | { call: "charts"; repo: RepoAccess }
  | { call: "probe"; repo: RepoAccess }
  | { call: "look"; request: LookRequest }
  | { call: "revision"; request: RevisionRequest }
  | { call: "survey"; request: SurveyRequest };

/**
 * The version of calls and answers. Raise it with every change of a name or a meaning: a side that does not know a
 * field would leave it out in silence, and sign in without it. Sides of different versions refuse each other, and the
 * controller tries again until the roll-out has reached both.
 */
export const WIRE = 2;
export const CALL_PATH = `/v${WIRE}/call`;

const SECRETS = [
  "password",
  "sshPrivateKey",
  "bearerToken",
  "tlsClientCertKey",
  "githubAppPrivateKey",
  "gcpServiceAccountKey",
  "azurePrincipalSecret",
] as const;

export function encodeCall(call: Call): string {
  if (call.call === "refs" || call.call === "charts" || call.call === "probe")
    return JSON.stringify({ ...call, repo: open(call.repo) });
  if (call.call === "survey") return encodeSurvey(call.request);
  if (call.call !== "render")
    return JSON.stringify({ ...call, request: { ...call.request, repo: open(call.request.repo) } });
  const { request } = call;
  const sources = request.sources.map((one) => ({ ...one, repo: open(one.repo) }));
  return JSON.stringify({ ...call, request: { ...request, sources, charts: request.charts?.map(open) } });
}

export function decodeCall(text: string): Call {
  const call = readJson(text) as Call;
  if (call.call === "survey") return { call: "survey", request: decodeSurvey(call as unknown as SealedSurvey) };
  if (call.call === "refs" || call.call === "charts" || call.call === "probe") close(call.repo);
  else if (call.call !== "render") close(call.request.repo);
  else {
    for (const { repo } of call.request.sources) close(repo);
    for (const repo of call.request.charts ?? []) close(repo);
  }
  return call;
}

/** Many applications share few ways into repositories: each is written once, and meant by its number. */
interface SealedSurvey {
  repos: RepoAccess[];
  repo: number;
  asks: (Omit<RenderRequest, "sources" | "charts"> & {
    sources: (Omit<SourceAccess, "repo"> & { repo: number })[];
    charts?: number[];
  })[];
}

function encodeSurvey({ repo, asks }: SurveyRequest): string {
  const numbers = new Map<RepoAccess, number>();
  const number = (one: RepoAccess) => {
    if (!numbers.has(one)) numbers.set(one, numbers.size);
    return numbers.get(one)!;
  };
  const sealed = {
    call: "survey",
    repo: number(repo),
    asks: asks.map((ask) => ({
      ...ask,
      sources: ask.sources.map((source) => ({ ...source, repo: number(source.repo) })),
      charts: ask.charts?.map(number),
    })),
  };
  return JSON.stringify({ ...sealed, repos: [...numbers.keys()].map(open) });
}

function decodeSurvey({ repos, repo, asks }: SealedSurvey): SurveyRequest {
  for (const one of repos) close(one);
  const at = (number: number) => repos[number]!;
  return {
    repo: at(repo),
    asks: asks.map((ask) => ({
      ...ask,
      sources: ask.sources.map((source) => ({ ...source, repo: at(source.repo) })),
      charts: ask.charts?.map(at),
    })),
  };
}

function open(repo: RepoAccess): Record<string, unknown> {
  const plain: Record<string, unknown> = { ...repo };
  for (const name of SECRETS) if (repo[name]) plain[name] = repo[name].reveal();
  if (repo.ways) plain.ways = repo.ways.map(open);
  return plain;
}

function close(repo: RepoAccess): void {
  for (const way of repo.ways ?? []) close(way);
  for (const name of SECRETS) {
    const value = repo[name] as unknown;
    if (typeof value === "string") repo[name] = new Secret(value);
  }
}

/** A request is taken for this long after it was made. */
export const FRESH_MS = 300_000;
export const MAX_CALL_BYTES = 4_000_000;
export const MAX_ANSWER_BYTES = 128_000_000;
