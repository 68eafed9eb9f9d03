import type { IncomingMessage, RequestOptions } from "node:http";
import { isIP, type LookupFunction } from "node:net";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Record<string, string>;
  readonly body?: string | undefined;
  readonly ca?: string | undefined;
  readonly timeout: number;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Longest answer that is read: an application with 10,000 resources is about 4 MB. */
const maxBody = 64 * 1024 * 1024;

/** RFC 6761: `localhost` and what is below it is this machine, whatever the resolver says. */
const localhost: LookupFunction = (_name, options, callback) => {
  if (options.all)
    (callback as unknown as (e: null, a: { address: string; family: number }[]) => void)(null, [
      { address: "127.0.0.1", family: 4 },
    ]);
  else callback(null, "127.0.0.1", 4);
};

export const isLocalhost = (host: string): boolean => host === "localhost" || host.endsWith(".localhost");

type Agents = { http?: import("node:http").Agent; https?: import("node:https").Agent };
const agents: Agents = {};

/** One HTTP exchange. Node's client is loaded when the first request is made: two of the three processes of a plan make none. */
export async function exchange({ method, url, headers, body, ca, timeout, signal }: HttpRequest): Promise<HttpAnswer> {
  const secure = url.protocol === "https:";
  const { request, agent } = secure ? await https() : await http();
  return new Promise((resolve, reject) => {
    const options: RequestOptions & { ca?: string } = {
      method,
      agent,
      headers: { ...headers, ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }) },
      signal,
      ...(isLocalhost(url.hostname) && !isIP(url.hostname) ? { lookup: localhost } : {}),
      ...(ca ? { ca } : {}),
    };
    const outgoing = request(url, options, (incoming) => {
      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBody) outgoing.destroy(new Error(`the answer is longer than ${maxBody >> 20} MB`));
        else chunks.push(chunk);
      });
      incoming.on("error", reject);
      incoming.on("aborted", () =>
        reject(Object.assign(new Error("the connection broke off within the answer"), { code: "ECONNRESET" })),
      );
      incoming.on("end", () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          body: Buffer.concat(chunks).toString("utf8"),
        }),
      );
    });
    const timer = setTimeout(
      () => outgoing.destroy(Object.assign(new Error(`no answer within ${timeout / 1000} s`), { code: "ETIMEDOUT" })),
      timeout,
    );
    outgoing.on("close", () => clearTimeout(timer));
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function http() {
  const { request, Agent } = await import("node:http");
  agents.http ??= new Agent({ keepAlive: true, maxSockets: 32 });
  return { request, agent: agents.http };
}

async function https() {
  const { request, Agent } = await import("node:https");
  agents.https ??= new Agent({ keepAlive: true, maxSockets: 32 });
  return { request, agent: agents.https };
}
