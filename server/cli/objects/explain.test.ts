import { person } from "../testing.ts";
import { needsSync } from "./explain.ts";

const head = {
  uid: "u",
  generation: 1,
  version: "7",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};
const ready = { observedGeneration: 1, sync: { status: "Synced" }, health: { status: "Healthy" } };
const app = (id: string, agent: string) => ({ ...head, id, spec: { agent, destination: {} }, status: ready });
const agent = (connected: boolean) => ({
  ...head,
  id: "a",
  spec: {},
  status: { connected, lastSeenAt: new Date(Date.now() - 300_000).toISOString() },
});

const service = () =>
  person(({ operation, url }) => {
    if (operation === "getAgent") return { body: agent(url.pathname.endsWith("/near")) };
    if (operation === "getApplication") return { body: app("web", "account.far") };
    return { body: { items: [app("web", "account.far"), app("shop", "account.far"), app("blog", "near")] } };
  });

test("the rows of an agent that is away are marked stale, and each agent is asked for once", async () => {
  const me = service();
  const { out } = await me.types("app", "ls");
  const lines = out.trimEnd().split("\n").slice(1);
  expect(lines.map((line) => /stale since .*/.exec(line)?.[0])).toEqual([
    "stale since 5m: agent far is not connected",
    "stale since 5m: agent far is not connected",
    undefined,
  ]);
  expect(me.requests.filter((seen) => seen.operation === "getAgent")).toHaveLength(2);
});

test("one that is shown alone is marked too; data is as the service gave it", async () => {
  expect((await service().types("app", "get", "web")).out).toMatch(/stale: +since 5m: agent far is not connected/);
  for (const format of ["json", "name"]) {
    const me = service();
    expect((await me.types("app", "ls", "-o", format)).out).not.toContain("stale");
    expect(me.requests.some((seen) => seen.operation === "getAgent")).toBe(false);
  }
});

describe("a wait for an application that nobody syncs", () => {
  const idle = (syncPolicy?: object, operation?: object) => ({
    ...app("web", "near"),
    spec: { agent: "near", destination: {}, ...(syncPolicy ? { syncPolicy } : {}) },
    status: {
      observedGeneration: 1,
      sync: { status: "OutOfSync" },
      health: { status: "Missing" },
      ...(operation ? { operation } : {}),
    },
  });

  test.each([
    ["has no policy", idle()],
    ["has a policy that is suspended", idle({ automated: { enabled: false } })],
    ["was synced before", idle(undefined, { phase: "Succeeded" })],
  ])("names `app sync`: it %s", (_, object) => {
    expect(needsSync(object)).toMatch(/does not sync by itself: run `outpost app sync web`/);
  });

  test.each([
    ["syncs by itself", idle({ automated: {} })],
    ["is being synced", idle(undefined, { phase: "Running" })],
    ["has changed since the agent looked", { ...idle(), generation: 2 }],
    ["is Synced", app("web", "near")],
  ])("goes on: it %s", (_, object) => expect(needsSync(object)).toBeUndefined());
});
