import { type RealService, startRealService } from "../testing/real.ts";
import { Client, type Place } from "./client.ts";
import { Reads } from "./reads.ts";

let service: RealService;
beforeAll(async () => {
  service = await startRealService();
  await service.ask("PUT", "/v1/organizations/team", { spec: {} });
  for (const query of ["", "?org=team"])
    for (let i = 0; i < 40; i++)
      await service.ask("PUT", `/v1/agents/a${i}${query}`, { spec: { description: `${query}${i}` } });
});
afterAll(() => service?.stop());

/** A client that notes its paths. */
class Noted extends Client {
  readonly paths: string[] = [];
  override call<T>(...args: Parameters<Client["call"]>): ReturnType<typeof Client.prototype.call<T>> {
    this.paths.push(args[1]);
    return super.call<T>(...args);
  }
}
const open = (apiKey = service.key) =>
  new Noted({ endpoint: service.endpoint, apiKey, requestTimeout: 10_000, userAgent: "test", log: () => undefined });
const limit = () => ({ deadline: Date.now() + 10_000, signal: new AbortController().signal });

test("objects read at the same time come from few lists, each as a read by itself would give it", async () => {
  const client = open();
  const places: Place[] = ["", "team"].flatMap((org) =>
    Array.from({ length: 41 }, (_, i) => ({
      collection: "agents",
      id: i === 40 ? "none" : `a${i}`,
      ...(org ? { org } : {}),
    })),
  );
  const reads = new Reads(client);
  const together = await Promise.all(places.map((place) => reads.get(place, limit())));
  // For each scope: the first alone, the others in one list, and the missing one by itself.
  expect(client.paths).toHaveLength(6);
  const alone = await Promise.all(places.map((place) => client.get(place, limit())));
  const plain = (reply: (typeof alone)[number]) => (reply.ok ? reply.body : { ...reply.problem, instance: "" });
  expect(together.map(plain)).toEqual(alone.map(plain));
  expect(together.filter((reply) => !reply.ok && reply.status === 404)).toHaveLength(2);
});

test("a refusal is that of each object", async () => {
  const reads = new Reads(open("outpost_main.nokey.nosecret"));
  const replies = await Promise.all(["a1", "a2", "a3"].map((id) => reads.get({ collection: "agents", id }, limit())));
  expect(replies.map((reply) => reply.status)).toEqual([401, 401, 401]);
});

test("reads that were interrupted end, and later ones are answered", async () => {
  const reads = new Reads(open());
  const stop = new AbortController();
  const stopped = ["a1", "a2", "a3"].map((id) =>
    reads.get({ collection: "agents", id }, { ...limit(), signal: stop.signal }),
  );
  stop.abort(new Error("stopped"));
  expect((await Promise.allSettled(stopped)).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(await reads.get({ collection: "agents", id: "a1" }, limit())).toMatchObject({ ok: true });
});
