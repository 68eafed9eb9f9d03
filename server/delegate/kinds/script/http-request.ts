import { setTimeout as sleep } from "node:timers/promises";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsHttpRequest } from "../../../../openapi/contract/validators.js";
import { parseJson } from "../../../base/json/json.ts";
import { failed, type KindResult, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import type { FetchAnswer, FetchAsk } from "../../task/fetch.ts";

type Params = Schemas["TaskParamsHttpRequest"];

// The bytes of the answer that outputs hold and `expectBody` looks at.
const OUTPUT_BYTES = 64 * 1024;
const LOOK_BYTES = 4 * 1024 * 1024;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const MAX_HEADER_CHARS = 16 * 1024;
const JSON_LIMITS = { depth: 32, members: 5_000 };

/** Sends a request and judges the answer. A status or body that was not expected fails it, with the answer in the outputs. */
export const httpRequest: TaskKindHandler<Params> = {
  validate: validateTaskParamsHttpRequest,

  async lacks() {
    return undefined;
  },

  async run(params, context) {
    const { retries = 0, method = "GET" } = params;
    const wrong = faultOf(params);
    if (wrong) return failed("ParamsInvalid", wrong);
    for (let tried = 0; ; tried++) {
      const result = await once(params, context);
      if (
        result.outcome === "succeeded" ||
        tried === retries ||
        context.signal.aborted ||
        FINAL.has(result.reason ?? "")
      )
        return result;
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** tried, LONGEST_PAUSE_MS);
      await context.progress(
        `${method} ${shown(params.url)}: ${result.message}; try ${tried + 2} of ${retries + 1} in ${pauseMs / 1_000} s`,
      );
      await sleep(pauseMs, undefined, { signal: context.signal }).catch(() => undefined);
    }
  },
};

const FINAL = new Set(["AddressRefused", "AddressInvalid", "RequestInvalid", "RedirectRefused"]);

/** The address without its query, which often holds a key. */
const shown = (url: string) => url.replace(/[?#].*$/, "");

function faultOf({ username, password, bearer, headers = {}, method = "GET", body }: Params): string | undefined {
  const own = Object.keys(headers).find((name) =>
    /^(host|content-length|transfer-encoding|connection|upgrade|expect)$/i.test(name),
  );
  if (own) return `/params/headers: ${own} is set by the request itself`;
  const broken = Object.entries(headers).find(([, value]) => /[\r\n\0]/.test(value));
  if (broken) return `/params/headers/${broken[0]} holds a line break`;
  if (bearer !== undefined && (username !== undefined || password !== undefined))
    return "/params: give `bearer`, or `username` and `password`, but not both";
  if (body !== undefined && (method === "GET" || method === "HEAD")) return `/params/body: ${method} has no body`;
  return undefined;
}

async function once(params: Params, context: TaskContext): Promise<KindResult> {
  const {
    url,
    method = "GET",
    body,
    expectStatus,
    expectBody,
    requestTimeoutSeconds = 30,
    followRedirects,
    caCertificate,
  } = params;
  const ask: FetchAsk = {
    method,
    headers: headersOf(params),
    deadlineMs: requestTimeoutSeconds * 1_000,
    maxBytes: LOOK_BYTES,
    cut: true,
    redirect: followRedirects ? "sameHost" : "manual",
    ...(body === undefined ? {} : { body }),
    ...(caCertificate === undefined ? {} : { caCertificate }),
  };
  const answer = await context.fetch(url, ask);
  if (answer.kind !== "done") return failed(answer.reason, `${method} ${shown(url)}: ${answer.message}`);
  const { status } = answer.value;
  const outputs = outputsOf(answer.value);
  await context.progress(`${method} ${shown(url)}: ${status}, ${answer.value.body.length} bytes`);
  const fits = expectStatus ? expectStatus.includes(status) : status >= 200 && status < 300;
  if (!fits) {
    const want = expectStatus ? `one of ${expectStatus.join(", ")}` : "200 to 299";
    const leads = status >= 300 && status < 400 ? `; it leads to ${answer.value.headers.location ?? "nowhere"}` : "";
    const hint = status === 401 || status === 403 ? "; check the login" : leads;
    return failed("StatusUnexpected", `it answered ${status}, ${want} was expected${hint}`, outputs);
  }
  if (expectBody !== undefined && !answer.value.body.toString("utf8").includes(expectBody))
    return failed(
      "BodyUnexpected",
      `it answered ${status}, but its body does not hold the text of \`expectBody\``,
      outputs,
    );
  return { outcome: "succeeded", outputs };
}

function headersOf({ headers = {}, username, password, bearer }: Params): Record<string, string> {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  if (bearer !== undefined) lower.authorization = `Bearer ${bearer}`;
  else if (username !== undefined || password !== undefined)
    lower.authorization = `Basic ${Buffer.from(`${username ?? ""}:${password ?? ""}`).toString("base64")}`;
  return lower;
}

function outputsOf({ status, headers, body }: FetchAnswer): Record<string, unknown> {
  const text = body.subarray(0, OUTPUT_BYTES).toString("utf8").replaceAll("\0", "\u2400");
  const short = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.slice(0, MAX_HEADER_CHARS)]),
  );
  const isJson = /[/+]json\b/.test(headers["content-type"] ?? "") && body.length <= OUTPUT_BYTES;
  const json = isJson ? parseJson(body, JSON_LIMITS) : undefined;
  return { status, headers: short, body: text, ...(json?.ok ? { json: json.value } : {}) };
}
