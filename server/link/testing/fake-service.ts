import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Schemas } from "../../../openapi/client.ts";
import { canonical } from "../../base/json/canonical.ts";
import { makeKeys, sign, verify } from "../identity/keys.ts";
import { pinOf } from "../identity/token.ts";

type Reply = { status: number; body?: unknown; headers?: Record<string, string>; raw?: string };

/** A stand-in for the service in unit tests of the workers. It checks every request against the contract; whole programs are tested with the real one. */
export interface FakeService {
  endpoint: string;
  token: string;
  /** Objects and tasks for the next exchange. */
  objects: Omit<Schemas["WorkerObject"], "worker">[];
  tasks: Omit<Schemas["WorkerTask"], "worker">[];
  cancel: string[];
  lost: Set<string>;
  reports: Schemas["ObjectReport"][];
  known: Schemas["Known"][][];
  results: { task: string; result: Schemas["TaskResult"] }[];
  logs: Map<string, Schemas["LogChunk"]["lines"]>;
  beats: Schemas["HeartbeatRequest"]["leases"][];
  enrolments: Schemas["EnrolRequest"][];
  sessions: Schemas["SessionRequest"][];
  /** Changes or replaces the reply to one request. */
  meddle?: ((operation: string, reply: Reply) => Reply | "hang" | "cut") | undefined;
  /** What a request breaks of the contract. */
  breaches: string[];
  worker: string;
  leaseSeconds: number;
  heartbeatSeconds: number;
  expireSessions(): void;
  signed(body: Record<string, unknown>): Schemas["Signed"];
  close(): Promise<void>;
}

const SCHEMAS: Record<string, string> = {
  enrol: "EnrolRequest",
  session: "SessionRequest",
  exchange: "ExchangeRequest",
  heartbeat: "HeartbeatRequest",
  logs: "LogChunk",
  result: "TaskResult",
};

export async function startFakeService(kind: "agent" | "delegate" = "agent"): Promise<FakeService> {
  const check = contract();
  const service = await makeKeys();
  const token = await makeKeys();
  const sessions = new Set<string>();
  let bound: string | undefined;
  let wake = () => {};
  let closed = false;

  const fake: FakeService = {
    endpoint: "",
    token: `ot1_t1_${token.signSeed.reveal()}_${pinOf(service.signKey)}`,
    objects: [],
    tasks: [],
    cancel: [],
    lost: new Set(),
    reports: [],
    known: [],
    results: [],
    logs: new Map(),
    beats: [],
    enrolments: [],
    sessions: [],
    breaches: [],
    worker: "w1",
    leaseSeconds: 15,
    heartbeatSeconds: 5,
    expireSessions: () => sessions.clear(),
    signed: (content) => {
      const body = canonical(content);
      return { body, signature: sign(service.signSeed, `outpost/signed/v1\n${body}`), keyId: "k1" };
    },
    close: async () => {
      closed = true;
      wake();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  const problem = (status: number, code: string, detail = code): Reply => ({
    status,
    body: { type: "about:blank", title: code, status, code, detail },
    headers: { "content-type": "application/problem+json" },
  });

  const handle = async (operation: string, url: URL, body: never, bearer: string): Promise<Reply> => {
    const schema = SCHEMAS[operation];
    const breach = schema && check(schema, body);
    if (breach) {
      fake.breaches.push(`${operation}: ${breach}`);
      return problem(400, "invalid_request", breach);
    }
    if (operation === "hello") {
      const nonce = randomBytes(16).toString("base64url");
      return {
        status: 200,
        body: {
          nonce,
          keyId: "k1",
          publicKey: service.signKey,
          signature: sign(service.signSeed, `outpost/hello/v1\n${url.searchParams.get("nonce")}\n${nonce}`),
        },
      };
    }
    if (operation === "enrol") {
      const { proof, ...fields } = body as Schemas["EnrolRequest"];
      if (
        !verify(token.signKey, `outpost/enrol/v1\n${canonical(fields)}`, proof) ||
        (bound && bound !== fields.signKey && kind === "agent")
      )
        return problem(401, "token_invalid");
      bound = fields.signKey;
      fake.enrolments.push(body);
      return { status: 200, body: { worker: fake.worker, kind, account: "default", id: "one" } };
    }
    if (operation === "session") {
      const { signature, ...fields } = body as Schemas["SessionRequest"];
      if (!bound || !verify(bound, `outpost/session/v1\n${canonical(fields)}`, signature))
        return problem(401, "worker_proof_invalid");
      const session = randomBytes(16).toString("hex");
      sessions.add(session);
      fake.sessions.push(body);
      return {
        status: 200,
        body: {
          session,
          epoch: fake.sessions.length,
          expiresInSeconds: 3600,
          heartbeatSeconds: fake.heartbeatSeconds,
          leaseSeconds: fake.leaseSeconds,
          capacity: 4,
        },
      };
    }
    if (!sessions.has(bearer)) return problem(401, "session_expired");
    const task = url.pathname.split("/")[4] ?? "";
    if (operation === "heartbeat") {
      const { leases } = body as Schemas["HeartbeatRequest"];
      fake.beats.push(leases);
      return {
        status: 200,
        body: { lost: leases.filter((lease) => fake.lost.has(lease.task)).map((lease) => lease.task) },
      };
    }
    if (operation === "logs" || operation === "result") {
      if (fake.lost.has(task)) return problem(409, "stale_fence");
      if (operation === "result") {
        fake.results.push({ task, result: body });
        return { status: 204 };
      }
      const have = fake.logs.get(task) ?? [];
      const { first, lines } = body as Schemas["LogChunk"];
      if (first > have.length + 1) return problem(409, "conflict", "a line is missing");
      fake.logs.set(task, [...have, ...lines.slice(have.length + 1 - first)]);
      return { status: 200, body: { last: fake.logs.get(task)!.length } };
    }
    const asked = body as Schemas["ExchangeRequest"];
    if (asked.known) fake.known.push(asked.known);
    fake.reports.push(...(asked.reports ?? []));
    const until = Date.now() + asked.wait * 1000;
    while (
      !closed &&
      asked.wait &&
      !fake.objects.length &&
      !(fake.tasks.length && asked.free) &&
      !fake.cancel.length &&
      Date.now() < until
    ) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, 20);
      });
    }
    const objects = asked.wait || asked.known ? fake.objects.splice(0) : [];
    const tasks = fake.tasks.splice(0, asked.free);
    const sign1 = (content: object) => fake.signed({ worker: fake.worker, ...content });
    return {
      status: 200,
      body: { objects: objects.map(sign1), tasks: tasks.map(sign1), cancel: asked.wait ? fake.cancel.splice(0) : [] },
    };
  };

  const server: Server = createServer((request: IncomingMessage, response: ServerResponse) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const url = new URL(request.url!, "http://fake");
      const operation = url.pathname.split("/").at(-1)!;
      const body = chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
      let reply: Reply | "hang" | "cut" = await handle(
        operation,
        url,
        body as never,
        (request.headers.authorization ?? "").slice(7),
      );
      if (fake.meddle) reply = fake.meddle(operation, reply);
      if (reply === "hang") return;
      if (reply === "cut") return void request.socket.destroy();
      response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
      response.end(reply.raw ?? (reply.body === undefined ? undefined : JSON.stringify(reply.body)));
    })().catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  fake.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return fake;
}

function contract(): (schema: string, value: unknown) => string | undefined {
  const document = JSON.parse(readFileSync(new URL("../../../openapi/contract/openapi.json", import.meta.url), "utf8"));
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "outpost", components: document.components });
  const known = new Map<string, ReturnType<typeof ajv.compile>>();
  return (schema, value) => {
    const validate = known.get(schema) ?? ajv.compile({ $ref: `outpost#/components/schemas/${schema}` });
    known.set(schema, validate);
    return validate(value) ? undefined : `${validate.errors?.[0]?.instancePath} ${validate.errors?.[0]?.message}`;
  };
}

/** A token as the service would make it, for another service than `fake`. */
export async function foreignToken(): Promise<string> {
  const keys = await makeKeys();
  return `ot1_t1_${keys.signSeed.reveal()}_${createHash("sha256").update("other").digest("base64url").slice(0, 32)}`;
}
