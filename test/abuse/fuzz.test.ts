import { connect } from "node:net";
import { startService, type TestService } from "../../server/control/testing/service.ts";
import { TestWorker } from "../../server/control/testing/worker.ts";
import { mutate, type Request, requestsFor } from "./mutate.ts";
import { random } from "./random.ts";

/**
 * No request makes a 5xx: requests drawn from the contract's schemas and then broken in one or more places are sent to the live service,
 * with keys of each kind. Every refusal must be a Problem; every answer must fit the contract, which the service checks itself here.
 * Environment: REQUESTS, SEED; a failure prints the request that made it.
 */
const REQUESTS = Number(process.env.REQUESTS ?? (process.env.PROVE ? 10_000 : 1_500));
// A run that must not depend on luck repeats one seed; PROVE takes another one each time.
const SEED = Number(process.env.SEED ?? (process.env.PROVE ? Date.now() % 1_000_000 : 1));

let s: TestService;
let session: string;
beforeAll(async () => {
  s = await startService();
  const put = (path: string, spec: object) => s.ask("PUT", path, { body: { spec } });
  await put("/v1/organizations/o", {});
  await put("/v1/projects/p?org=o", {});
  await put("/v1/agents/a", {});
  await put("/v1/agents/offline", {});
  await put("/v1/delegates/d", {});
  await put("/v1/repositories/r", { agent: "offline", url: "https://h/r" });
  await put("/v1/clusters/c", { agent: "offline", server: "https://h" });
  await put("/v1/applications/x", { agent: "offline", destination: {}, source: { repository: "r", path: "." } });
  const { token } = (await s.ask("POST", "/v1/agents/a/tokens", { body: {} })).body;
  session = (await (await new TestWorker(s.url).enrol(token)).open()).session;
}, 60_000);
afterAll(() => s?.stop());

test(
  `${REQUESTS} mutated requests: 0 answers of 5xx, every refusal is a Problem`,
  async () => {
    const dice = random(SEED);
    const drawn = requestsFor(dice, session, s.admin);
    const wrong: unknown[] = [];
    const statuses: Record<number, number> = {};
    const codes = new Set<string>();
    const send = async (request: Request, n: number) => {
      const abort = AbortSignal.timeout(30_000);
      let answer: Awaited<ReturnType<TestService["ask"]>>;
      try {
        answer = await s.ask(request.method, request.path, {
          key: request.key,
          headers: request.headers,
          signal: abort,
          ...(request.raw === undefined ? {} : { raw: request.raw }),
        });
      } catch (error) {
        // What the client library itself refuses to send never reached the service; a connection that broke did.
        if (abort.aborted || /ECONN|socket|terminated/.test(String((error as Error).cause ?? error)))
          wrong.push({ n, request, error: String((error as Error).cause ?? error) });
        return;
      }
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      if (answer.body?.code) codes.add(answer.body.code);
      const problem =
        answer.status < 400 ||
        (/^application\/problem\+json/.test(answer.headers.get("content-type") ?? "") &&
          typeof answer.body?.code === "string" &&
          answer.body.status === answer.status);
      // HEAD has no body to look at.
      if (answer.status >= 500 || (!problem && request.method !== "HEAD"))
        wrong.push({
          n,
          request: { ...request, raw: request.raw?.toString().slice(0, 2_000) },
          status: answer.status,
          text: answer.text.slice(0, 500),
        });
      if (answer.text.includes("canary")) wrong.push({ n, request: request.path, leak: answer.text.slice(0, 500) });
    };
    for (let n = 0; n < REQUESTS; n += 8) {
      await Promise.all(
        Array.from({ length: Math.min(8, REQUESTS - n) }, (_, i) => send(mutate(drawn(), dice), n + i)),
      );
    }
    process.stdout.write(
      `seed ${SEED}: ${REQUESTS} requests, statuses ${JSON.stringify(statuses)}, ${codes.size} codes\n`,
    );
    expect({ seed: SEED, wrong: wrong.slice(0, 3) }).toEqual({ seed: SEED, wrong: [] });
    expect((await s.ask("GET", "/readyz")).status).toBe(200);
    // The mutations must leave many requests sound, or they prove nothing.
    expect(statuses[200] ?? 0).toBeGreaterThan(REQUESTS / 50);
  },
  REQUESTS * 200,
);

test("garbage on the socket: the service answers or closes, and lives", async () => {
  const dice = random(SEED + 1);
  const { port, hostname } = new URL(s.url);
  const once = () =>
    new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname);
      let got = "";
      const timer = setTimeout(() => socket.destroy(), 1_000);
      socket.on("data", (d) => {
        got += d;
      });
      socket.on("error", () => {});
      socket.on("close", () => {
        clearTimeout(timer);
        resolve(got);
      });
      const text = Buffer.from(
        'PUT /v1/agents/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"spec": {} }',
      );
      for (let i = 0; i < 1 + dice() * 6; i++) text[Math.floor(dice() * text.length)] = Math.floor(dice() * 256);
      socket.end(text);
    });
  const answers = await Promise.all(Array.from({ length: 200 }, once));
  expect(answers.filter((a) => /^HTTP\/1\.1 5/.test(a))).toEqual([]);
  expect((await s.ask("GET", "/readyz")).status).toBe(200);
}, 60_000);
