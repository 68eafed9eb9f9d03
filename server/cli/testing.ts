import { type OperationId, operations } from "../../openapi/contract/operations.ts";
import { run } from "./command.ts";
import type { Exit } from "./output/failure.ts";
import type { Io } from "./output/io.ts";
import type { Json } from "./show.ts";

export interface Seen {
  operation: OperationId | undefined;
  url: URL;
  body: Json;
  headers: Record<string, string>;
}
export type Answer = { status?: number; body?: unknown; type?: string };

/** A person at the command line with a scripted service behind it. */
export function person(answers: (seen: Seen) => Answer, more: Partial<Io> = {}) {
  const requests: Seen[] = [];
  const fetch = async (text: string, init: RequestInit): Promise<Response> => {
    const url = new URL(text);
    const seen = {
      operation: operationOf(init.method!, url.pathname),
      url,
      body: init.body ? JSON.parse(init.body as string) : {},
      headers: init.headers as Record<string, string>,
    };
    requests.push(seen);
    const { status = 200, body = {}, type } = answers(seen);
    const usual = typeof body === "string" ? "text/plain" : "application/json";
    const kind = type ?? (status >= 400 ? "application/problem+json" : usual);
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    return new Response(status === 204 ? null : sent, {
      status,
      headers: { "content-type": kind },
    });
  };
  return {
    requests,
    async types(...argv: string[]): Promise<{ exit: Exit; out: string; err: string }> {
      let out = "";
      let err = "";
      const io: Io = {
        env: {
          OUTPOST_ENDPOINT: "https://service.test",
          OUTPOST_API_KEY: "opk_test",
          OUTPOST_CONFIG: "/nonexistent/config.json",
        },
        out: {
          write(t) {
            out += Buffer.from(t as string).toString();
          },
          isTTY: false,
        },
        err: {
          write(t) {
            err += Buffer.from(t as string).toString();
          },
          isTTY: false,
        },
        signal: new AbortController().signal,
        stdin: async () => "secret-from-stdin\n",
        askSecret: async () => undefined,
        fetch,
        ...more,
      };
      const exit = await run(argv, io);
      return { exit, out, err };
    },
  };
}

/** The operation of the contract that a request is. */
export function operationOf(method: string, path: string): OperationId | undefined {
  const fits = (Object.keys(operations) as OperationId[]).filter((id) => {
    const row = operations[id];
    return row.method === method && new RegExp(`^${row.path.replace(/\{\w+\}/g, "[^/]+")}$`).test(path);
  });
  // A fixed path beats one with a parameter, as at the service.
  return fits.find((id) => operations[id].path === path) ?? fits[0];
}
