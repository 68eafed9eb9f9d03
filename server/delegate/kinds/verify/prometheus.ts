import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { TaskContext } from "../../kind.ts";

export interface Prometheus {
  url: string;
  username?: string | undefined;
  password?: string | undefined;
  bearer?: string | undefined;
  caCertificate?: string | undefined;
}

export interface Range {
  /** Seconds since the epoch. */
  start: number;
  end: number;
  stepSeconds: number;
}

const DEADLINE_MS = 60_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** Samples taken of one query; more would only slow the test down. */
const MAX_SAMPLES = 20_000;

/** All finite samples of a query over a range, those of several series together. Prometheus' own words are kept in a refusal. */
export async function queryRange(
  context: TaskContext,
  prometheus: Prometheus,
  query: string,
  range: Range,
): Promise<Outcome<number[]>> {
  const { url, username, password, bearer, caCertificate } = prometheus;
  const body = new URLSearchParams({
    query,
    start: String(range.start),
    end: String(range.end),
    step: String(range.stepSeconds),
  });
  const login = username !== undefined ? basic(username, password ?? "") : undefined;
  const authorization = bearer ? `Bearer ${bearer}` : login;
  const answer = await context.fetch(`${url.replace(/\/+$/, "")}/api/v1/query_range`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...(authorization ? { authorization } : {}) },
    body: body.toString(),
    ...(caCertificate ? { caCertificate } : {}),
    deadlineMs: DEADLINE_MS,
    maxBytes: MAX_BYTES,
  });
  if (answer.kind !== "done") return answer;
  const { status } = answer.value;
  const text = answer.value.body.toString("utf8");
  const json = parse(text);
  if (status === 401 || status === 403)
    return stop("PrometheusDenied", `${url} answers ${status}: the credentials do not open it`);
  if (json?.status !== "success")
    return stop(
      "QueryRefused",
      `Prometheus refuses ${JSON.stringify(query)}: ${json?.error ?? `status ${status}, and not its kind of answer`}`,
    );
  if (json.data?.resultType !== "matrix")
    return stop(
      "QueryRefused",
      `${JSON.stringify(query)} gives ${json.data?.resultType ?? "nothing"}, and not series over time`,
    );
  const samples = (json.data.result ?? []).flatMap((series) => (series.values ?? []).map(([, value]) => Number(value)));
  return done(samples.filter(Number.isFinite).slice(0, MAX_SAMPLES));
}

interface Answer {
  status?: string;
  error?: string;
  data?: { resultType?: string; result?: { values?: [number, string][] }[] };
}

function parse(text: string): Answer | undefined {
  try {
    return readJson(text) as Answer;
  } catch {
    return undefined;
  }
}

const basic = (username: string, password: string) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
