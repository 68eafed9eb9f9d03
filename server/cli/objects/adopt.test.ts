import type { Json } from "../show.ts";
import { person, type Seen } from "../testing.ts";

const head = {
  uid: "u",
  generation: 2,
  version: "7",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};
const live = { namespace: "argocd", name: "web", uid: "k" };
const app = (id: string, origin: string, more: Json = {}): Json => ({
  ...head,
  id,
  origin,
  spec: { agent: "prod", destination: { namespace: "a" } },
  status: {},
  ...(origin === "managed" ? {} : { live }),
  ...more,
});
const answers = (found: Json, clusters: Json[] = []) =>
  person(({ operation }: Seen) => {
    if (operation === "listClusters") return { body: { items: clusters } };
    return { body: operation === "getApplication" ? found : app("web", "managed") };
  });

test("a list shows the origin only where not everything is managed, and can be limited to one", async () => {
  const list = async (items: Json[], ...words: string[]) => {
    const me = person(() => ({ body: { items } }));
    const { out } = await me.types("app", "list", ...words);
    return { out, filter: me.requests[0]!.url.searchParams.get("filter") };
  };
  expect((await list([app("a", "managed")])).out).not.toContain("ORIGIN");
  const mixed = await list(
    [app("a", "managed"), app("b", "generated")],
    "--origin",
    "generated",
    "--filter",
    "spec.agent=prod",
  );
  expect(mixed.out).toMatch(/ID\s+ORIGIN\s+AGENT[\s\S]*b\s+generated/);
  expect(mixed.filter).toBe("spec.agent=prod,origin=generated");
  const org = person(() => ({ body: { items: [] } }));
  expect((await org.types("org", "list", "--origin", "managed")).exit).toBe(2);
});

test("adopt sends what is shown, for the version that was read", async () => {
  const me = answers(app("web", "discovered"));
  const { exit, err } = await me.types("app", "adopt", "web");
  expect([exit, err]).toEqual([0, "✓ app web taken over\n"]);
  expect(me.requests[1]).toMatchObject({
    operation: "putApplication",
    headers: { "if-match": '"7"' },
    body: { spec: { agent: "prod", destination: { namespace: "a" } } },
  });
  expect(me.requests[1]!.url.searchParams.get("adopt")).toBe("true");
});

test("adopt names the registered cluster that the application deploys to, and asks for one that is missing", async () => {
  const remote = app("web", "discovered", { live: { ...live, destination: { server: "https://far.test" } } });
  const me = answers(remote, [{ ...head, id: "far", spec: { agent: "prod", server: "https://far.test" }, status: {} }]);
  expect((await me.types("app", "adopt", "web")).exit).toBe(0);
  expect(me.requests.at(-1)!.body.spec.destination).toEqual({ namespace: "a", cluster: "far" });
  const without = await answers(remote).types("app", "adopt", "web");
  expect([without.exit, without.err]).toEqual([2, expect.stringContaining("https://far.test")]);
});

test("apply takes discovered objects over only when it is told to", async () => {
  const me = answers(app("web", "discovered"));
  const words = ["app", "apply", "web", "--agent", "prod", "--set", "source.path=a"];
  const { err } = await me.types(...words);
  expect(err).toContain("applied");
  await me.types(...words, "--adopt");
  expect(me.requests.map(({ url }) => url.searchParams.get("adopt"))).toEqual([null, "true"]);
});

test("to adopt what is managed already changes nothing and is not an error", async () => {
  const me = answers(app("web", "managed"));
  expect(await me.types("app", "adopt", "web")).toMatchObject({
    exit: 0,
    err: "✓ app web is managed already: there is nothing to take over\n",
  });
  expect(me.requests.map(({ operation }) => operation)).toEqual(["getApplication"]);
});
