import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Stored } from "../client/client.ts";

/** A service in memory that answers as the contract says, for tests of the resources alone. */
export interface FakeService {
  readonly endpoint: string;
  /** By `collection/org/project/id`. */
  readonly store: Map<string, Stored & Record<string, unknown>>;
  /** `METHOD path` of every request. */
  readonly requests: string[];
  readonly bodies: unknown[];
  /** What the agent makes of an object that was put; the default delivers at once. */
  onPut: (stored: Stored & Record<string, unknown>) => void;
  /** Answers before anything else, if it returns true. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  close(): Promise<void>;
}

const titles: Record<number, string> = {
  400: "The request does not fit the contract",
  404: "There is no such object",
  409: "The object exists already",
  412: "The object has changed since",
  422: "A field's value is not allowed",
};

export function problem(
  response: ServerResponse,
  status: number,
  code: string,
  detail: string,
  more: object = {},
): void {
  response.writeHead(status, { "content-type": "application/problem+json" });
  response.end(
    JSON.stringify({
      type: `https://example.com/${code}`,
      title: titles[status] ?? code,
      status,
      code,
      detail,
      ...more,
    }),
  );
}

/** Defaults of the contract, as its validation fills them in. */
const defaults: Record<string, Record<string, unknown>> = {
  agents: { mode: "cluster", namespace: "outpost-agent" },
  delegates: { capacity: 10 },
  repositories: { type: "git", insecure: false },
  clusters: { clusterResources: true, insecure: false },
  applications: { argoProject: "default", revisionHistoryLimit: 10 },
  applicationsets: { goTemplate: true },
  repositorycredentials: { type: "git" },
  webhooks: { enabled: true, secretVersion: 1 },
};

export async function createService(): Promise<FakeService> {
  const store: FakeService["store"] = new Map();
  let serial = 0;
  const answer = (response: ServerResponse, status: number, body: unknown) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      service.requests.push(`${request.method} ${request.url}`);
      const text = Buffer.concat(chunks).toString();
      const body = text ? JSON.parse(text) : undefined;
      if (body) service.bodies.push(body);
      if (service.intercept?.(request, response)) return;
      if (request.headers.authorization !== "Bearer key")
        return problem(response, 401, "unauthenticated", "No valid credential.");
      const url = new URL(request.url!, "http://x");
      const [, , collection = "", id = "", action] = url.pathname.split("/");
      if (collection === "whoami") return answer(response, 200, { account: "main", id: "k", role: "admin" });
      const [org, project] = [url.searchParams.get("org"), url.searchParams.get("project")];
      const key = [collection, org ?? "-", project ?? "-", id].join("/");
      const found = store.get(key);
      if (action === "tokens" && request.method === "GET") return answer(response, 200, { items: [] });
      if (action === "tokens" && request.method === "DELETE") {
        response.writeHead(204).end();
        return;
      }
      if (action === "tokens")
        return found
          ? answer(response, 201, {
              id: "t1",
              token: "canary-token",
              createdAt: "x",
              expiresAt: "2030-01-01T00:00:00Z",
              uses: 0,
              maxUses: 1,
            })
          : problem(response, 404, "not_found", "No such object.");
      if (action === "secret")
        return found
          ? answer(response, 200, { url: "https://outpost.test/v1/hooks/h", secret: "canary-secret" })
          : problem(response, 404, "not_found", "No such object.");
      if (request.method === "GET")
        return found ? answer(response, 200, found) : problem(response, 404, "not_found", "No such object.");
      if (request.method === "DELETE") {
        if (!found) return problem(response, 404, "not_found", "No such object.");
        store.delete(key);
        response.writeHead(204).end();
        return;
      }
      if (found && request.headers["if-none-match"] === "*")
        return problem(response, 409, "already_exists", "It exists.");
      const match = request.headers["if-match"];
      if (match !== undefined && match !== `"${found?.version}"`)
        return problem(response, 412, "version_mismatch", "It has changed.");
      const { sealedCredentials, credentials, ...spec } = body.spec;
      const stored = {
        id,
        ...(org ? { org } : {}),
        ...(project ? { project } : {}),
        uid: found?.uid ?? `uid-${++serial}`,
        generation: (found?.generation ?? 0) + 1,
        version: String(++serial),
        createdAt: "2026-01-01T00:00:00Z",
        updatedAt: "2026-01-01T00:00:00Z",
        spec: { ...defaults[collection], ...spec },
        status: {},
      };
      service.onPut(stored);
      store.set(key, stored);
      answer(response, found ? 200 : 201, stored);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const service: FakeService = {
    endpoint: `http://outpost.localhost:${(server.address() as AddressInfo).port}`,
    store,
    requests: [],
    bodies: [],
    intercept: undefined,
    onPut: (stored) => {
      const status: Record<string, unknown> = stored.status;
      if (!("agent" in stored.spec)) return;
      Object.assign(status, { observedGeneration: stored.generation, delivery: { state: "Delivered" } });
      if ("generators" in stored.spec)
        Object.assign(status, {
          conditions: [
            { type: "ResourcesUpToDate", status: "True", reason: "x", message: "x", lastTransitionTime: "x" },
          ],
          applications: [{ name: "a", sync: "Synced", health: "Healthy" }],
        });
      if ("destination" in stored.spec)
        Object.assign(status, { sync: { status: "Synced", revision: "abc" }, health: { status: "Healthy" } });
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return service;
}
