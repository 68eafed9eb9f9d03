import type { Readable } from "node:stream";
import { request } from "undici";
import { dispatcherOf, type HttpOptions } from "./http.ts";

/** What an AWS client asks its handler to send. */
interface AwsRequest {
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  method: string;
  headers: Record<string, string>;
  query?: Record<string, string | string[] | null>;
  body?: unknown;
}

const DEADLINE_MS = 15_000;

/** `requestHandler` for AWS's clients: through the environment's proxy and with its private CA, as everything else of the delegate goes. */
export function awsHttp(options: HttpOptions) {
  const dispatcher = dispatcherOf(options);
  return {
    metadata: { handlerProtocol: "http/1.1" },
    async handle(asked: AwsRequest, { abortSignal }: { abortSignal?: AbortSignal } = {}) {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(asked.query ?? {}))
        for (const one of [value].flat()) query.append(name, one ?? "");
      const url = `${asked.protocol}//${asked.hostname}${asked.port ? `:${asked.port}` : ""}${asked.path}${query.size ? `?${query}` : ""}`;
      const timeout = AbortSignal.timeout(DEADLINE_MS);
      const { host: _, ...headers } = asked.headers;
      const answer = await request(url, {
        dispatcher,
        method: asked.method as "POST",
        headers,
        body: (asked.body as string | Uint8Array | undefined) ?? null,
        signal: abortSignal instanceof AbortSignal ? AbortSignal.any([abortSignal, timeout]) : timeout,
      });
      const plain = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
      return { response: { statusCode: answer.statusCode, headers: plain, body: answer.body as Readable } };
    },
    destroy: () => void dispatcher.destroy().catch(() => undefined),
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  };
}
