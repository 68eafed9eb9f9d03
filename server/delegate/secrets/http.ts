import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { type Dispatcher, EnvHttpProxyAgent, request } from "undici";
import { readJson } from "../../base/json/nesting.ts";
import { done, type Outcome } from "../../base/outcome.ts";
import { faultOf } from "../../link/transport/fault.ts";
import { proxyOf, proxySettings } from "../../link/transport/proxy.ts";
import { unavailable } from "./source.ts";

const DEADLINE_MS = 10_000;
const MAX_ANSWER = 2 * 1024 * 1024;

export interface Asking {
  headers: Record<string, string>;
  body?: unknown;
  signal: AbortSignal;
}

export interface HttpAnswer {
  status: number;
  /** The answer as JSON; undefined when it is not JSON. */
  json: unknown;
}

export interface HttpOptions {
  env: NodeJS.ProcessEnv;
  /** File with the roots to trust besides the usual ones and those of OUTPOST_CA_FILE. */
  caFile?: string | undefined;
}

/** Requests to the servers that keep secrets: bounded, without redirects, through the environment's proxy, with its private CA. */
export class Http {
  readonly #options: HttpOptions;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** Any answer is `done`; network errors are `again`. */
  async ask(method: "GET" | "POST", url: string, { headers, body, signal }: Asking): Promise<Outcome<HttpAnswer>> {
    const { origin } = new URL(url);
    const { env, caFile } = this.#options;
    let dispatcher: Dispatcher | undefined;
    try {
      dispatcher = dispatcherOf(this.#options);
      const answer = await request(url, {
        dispatcher,
        method,
        headers: {
          accept: "application/json",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      let text = "";
      answer.body.setEncoding("utf8");
      for await (const part of answer.body) {
        text += part;
        if (text.length > MAX_ANSWER)
          return unavailable(`${origin} answered with more than ${MAX_ANSWER / 1024 / 1024} MiB`);
      }
      return done({ status: answer.statusCode, json: parse(text) });
    } catch (error) {
      const proxy = proxyOf(origin, proxySettings(env));
      return unavailable(faultOf(error, { origin, proxy, caFile: caFile ?? env.OUTPOST_CA_FILE }).message);
    } finally {
      // Secrets are asked for seldom: no connection waits, and each sees the files as they are now.
      void dispatcher?.destroy().catch(() => undefined);
    }
  }
}

/** The way there: through the environment's proxy, trusting the usual roots and those of the files. */
export function dispatcherOf({ env, caFile }: HttpOptions): Dispatcher {
  const files = [caFile, env.OUTPOST_CA_FILE].flatMap((file) => (file ? [readFileSync(file, "utf8")] : []));
  const ca = files.length ? [...rootCertificates, ...files] : undefined;
  return new EnvHttpProxyAgent({
    ...proxySettings(env),
    connect: { ca, timeout: DEADLINE_MS },
    requestTls: { ca },
    proxyTls: { ca },
  });
}

function parse(text: string): unknown {
  try {
    return readJson(text);
  } catch {
    return undefined;
  }
}

/** A member of whatever came, without trust in its form. */
export function at(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      inner !== null && typeof inner === "object" && Object.hasOwn(inner, name)
        ? (inner as Record<string, unknown>)[name]
        : undefined,
    value,
  );
}
