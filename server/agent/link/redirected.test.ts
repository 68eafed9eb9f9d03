import { readFileSync } from "node:fs";
import { jest } from "@jest/globals";
import type { SealedCollection } from "../../../openapi/audience.ts";
import { generateSealKeys, type SealedEnvelope, seal } from "../../../openapi/seal.ts";
import { type ApiServer, startApiServer } from "../../../test/cluster/apiserver.ts";
import { until } from "../../../test/servers/run.ts";
import type { Outcome } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";
import { KubeClient } from "../../kube/client.ts";
import { parseKubeconfig } from "../../kube/config.ts";
import type { KubeObject } from "../../kube/object.ts";
import { RESOURCES } from "../../kube/path.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import type { AgentContext } from "./context.ts";
import { AUDIENCE, OPENED } from "./credentials/credentials.ts";
import { OPENED_BEFORE } from "./credentials/opened.ts";
import { putCluster } from "./deliveries/cluster.ts";
import { putRepository, putRepositoryCredential, removeSecret } from "./deliveries/repository.ts";
import { nameOf } from "./names.ts";

/**
 * A service that was taken over puts what it holds together as it likes: an envelope with another specification, or a specification
 * without an envelope beside credentials that the agent keeps. The agent must not write a Secret from which they would go elsewhere.
 */
jest.setTimeout(180_000);
const CANARY = "canary-secret";
let api: ApiServer;
let client: KubeClient;
let ctx: AgentContext;
let publicKey: string;
beforeAll(async () => {
  api = await startApiServer();
  client = new KubeClient(parseKubeconfig(readFileSync(api.kubeconfig, "utf8")));
  const keys = await generateSealKeys();
  publicKey = keys.publicKey;
  const log = { debug() {}, info() {}, warn() {}, error() {} } as unknown as AgentContext["log"];
  ctx = { client, namespace: "default", account: "acme", sealSeed: new Secret(keys.privateKey), log };
});
afterAll(async () => {
  await client?.close();
  await api?.stop();
});

type Spec = Record<string, unknown>;
const HANDLER: Record<SealedCollection, (ctx: AgentContext, object: WorkerObject) => Promise<Outcome<undefined>>> = {
  repositories: putRepository,
  repositorycredentials: putRepositoryCredential,
  clusters: putCluster,
};
const sealedFor = (collection: SealedCollection, id: string, spec: Spec, credentials: Spec): Promise<SealedEnvelope> =>
  seal({ id: "k", publicKey }, { account: "acme", collection, id }, spec, credentials);

interface Delivered {
  collection: SealedCollection;
  id: string;
  generation: number;
  spec: Spec;
  sealed?: SealedEnvelope | undefined;
  uid?: string;
  key?: string;
}
const toObject = ({
  collection,
  id,
  generation,
  spec,
  sealed,
  uid = `uid-${id}`,
  key = `-/-/${id}`,
}: Delivered): WorkerObject =>
  ({ worker: "w", op: "put", collection, key, uid, generation, spec, ...(sealed ? { sealed } : {}) }) as WorkerObject;
/** `done`, or the reason of the refusal. */
async function deliver(what: Delivered): Promise<string> {
  const outcome = await HANDLER[what.collection](ctx, toObject(what));
  return outcome.kind === "done" ? "done" : outcome.reason;
}
async function secretOf(collection: SealedCollection, id: string): Promise<KubeObject | undefined> {
  const found = await client.get(RESOURCES.secret, "default", nameOf({ collection, key: `-/-/${id}` }));
  return found.kind === "done" ? found.value : undefined;
}
const textOf = (secret: KubeObject | undefined): string =>
  Object.values(secret?.data ?? {})
    .map((value) => Buffer.from(String(value), "base64").toString())
    .join("\n");

interface World {
  collection: SealedCollection;
  spec: Spec;
  credentials: Spec;
  /** Each one alone sends the credentials elsewhere, or protects them less. */
  attacks: Record<string, Spec>;
  /** Changes that are allowed; they must not cover up an attack. */
  harmless: Record<string, Spec>;
}
const AGENT = { agent: "one" };
const WORLDS: Record<string, World> = {
  "a repository's password": {
    collection: "repositories",
    spec: { ...AGENT, url: "https://git.corp/team/app.git", proxy: "http://proxy.corp:1", noProxy: "git.corp" },
    credentials: { password: CANARY },
    attacks: {
      host: { url: "https://evil.example/team/app.git" },
      port: { url: "https://git.corp:8443/team/app.git" },
      scheme: { url: "http://git.corp/team/app.git" },
      proxy: { proxy: "http://evil.example:1" },
      "less that avoids the proxy": { noProxy: "other.corp" },
      insecure: { insecure: true },
      "basic auth": { forceHttpBasicAuth: true },
      type: { type: "helm" },
      "plain registry": { insecureOciForceHttp: true },
    },
    harmless: { path: { url: "https://git.corp/team/other.git" }, depth: { depth: 1 }, user: { username: "robot" } },
  },
  "a GitHub App's key": {
    collection: "repositories",
    spec: {
      ...AGENT,
      url: "https://ghe.corp/team/app.git",
      githubApp: { id: 7, enterpriseBaseUrl: "https://ghe.corp/api/v3" },
    },
    credentials: { githubAppPrivateKey: CANARY },
    attacks: {
      host: { url: "https://evil.example/team/app.git" },
      "sign-in address": { githubApp: { id: 7, enterpriseBaseUrl: "https://evil.example/api/v3" } },
      "scheme of the sign-in": { githubApp: { id: 7, enterpriseBaseUrl: "http://ghe.corp/api/v3" } },
      "public sign-in": { githubApp: { id: 7 } },
      proxy: { proxy: "http://evil.example:1" },
      insecure: { insecure: true },
    },
    harmless: {
      installation: { githubApp: { id: 7, installationId: 9, enterpriseBaseUrl: "https://ghe.corp/api/v3" } },
    },
  },
  "an SSH key": {
    collection: "repositories",
    spec: { ...AGENT, url: "git@git.corp:team/app.git", sshKnownHosts: "git.corp ssh-ed25519 AAAA" },
    credentials: { sshPrivateKey: CANARY },
    attacks: {
      host: { url: "git@evil.example:team/app.git" },
      port: { url: "ssh://git@git.corp:2222/team/app.git" },
      scheme: { url: "https://git.corp/team/app.git" },
      "host keys": { sshKnownHosts: "git.corp ssh-ed25519 EVIL" },
      insecure: { insecure: true },
    },
    harmless: { spelling: { url: "ssh://git@GIT.corp:22/team/app.git" } },
  },
  "a service principal's secret under a template": {
    collection: "repositorycredentials",
    spec: {
      ...AGENT,
      url: "https://dev.azure.com/o/platform/",
      azureServicePrincipal: { clientId: "c", tenantId: "t" },
    },
    credentials: { azureServicePrincipalClientSecret: CANARY },
    attacks: {
      host: { url: "https://evil.example/o/platform/" },
      "shorter prefix": { url: "https://dev.azure.com/o/" },
      "way up": { url: "https://dev.azure.com/o/platform/%2e%2e/" },
      "prefix beside": { url: "https://dev.azure.com/o/evil/" },
      scheme: { url: "http://dev.azure.com/o/platform/" },
      "sign-in address": {
        azureServicePrincipal: { clientId: "c", tenantId: "t", activeDirectoryEndpoint: "https://evil.example" },
      },
      proxy: { proxy: "http://evil.example:1" },
      type: { type: "oci" },
    },
    harmless: { "longer prefix": { url: "https://dev.azure.com/o/platform/team/" } },
  },
  "a cluster's token": {
    collection: "clusters",
    spec: { ...AGENT, server: "https://k8s.corp:6443", caData: "pem", serverName: "k8s.corp" },
    credentials: { bearerToken: CANARY },
    attacks: {
      host: { server: "https://evil.example:6443" },
      port: { server: "https://k8s.corp" },
      proxy: { proxyUrl: "http://evil.example:1" },
      insecure: { insecure: true },
      authority: { caData: "evil" },
      "public authorities": { caData: undefined },
      "name of the certificate": { serverName: "evil.example" },
    },
    harmless: { namespaces: { namespaces: ["a"] }, spelling: { server: "https://K8S.corp:6443/" } },
  },
};

const merged = (spec: Spec, ...changes: Spec[]): Spec =>
  JSON.parse(JSON.stringify(Object.assign({}, spec, ...changes))) as Spec;
/** Every attack alone, with another, and with each harmless change. */
function combined({ spec, attacks, harmless }: World): [string, Spec][] {
  const list = Object.entries(attacks);
  const pairs = list.flatMap(([one, change], i) =>
    list.slice(i + 1).map(([other, second]): [string, Spec] => [`${one} and ${other}`, merged(spec, change, second)]),
  );
  // An attack on a field that a harmless change has too comes last, so it stays one.
  const covered = Object.entries(harmless).flatMap(([one, change]) =>
    list.map(([name, attack]): [string, Spec] => [`${name}, beside ${one}`, merged(spec, change, attack)]),
  );
  return [...list.map(([name, change]): [string, Spec] => [name, merged(spec, change)]), ...pairs, ...covered];
}

describe.each(Object.entries(WORLDS))("%s", (name, world) => {
  const { collection, spec, credentials } = world;
  const slug = name.replace(/[^a-z]+/gi, "-").toLowerCase();

  test("goes nowhere else with an envelope that was never opened", async () => {
    const id = `${slug}-fresh`;
    const sealed = await sealedFor(collection, id, spec, credentials);
    const wrong: string[] = [];
    for (const [attack, changed] of combined(world)) {
      const said = await deliver({ collection, id, generation: 1, spec: changed, sealed });
      if (said !== "CredentialsAudience" || (await secretOf(collection, id))) wrong.push(`${attack}: ${said}`);
    }
    expect(wrong).toEqual([]);
    expect(await deliver({ collection, id, generation: 1, spec, sealed })).toBe("done");
    expect(textOf(await secretOf(collection, id))).toContain(CANARY);
  });

  test("goes nowhere else with the envelope of before, nor with none", async () => {
    const id = `${slug}-kept`;
    const sealed = await sealedFor(collection, id, spec, credentials);
    expect(await deliver({ collection, id, generation: 1, spec, sealed })).toBe("done");
    const before = await secretOf(collection, id);
    const wrong: string[] = [];
    let generation = 1;
    for (const [attack, changed] of combined(world))
      for (const [with_, envelope, reason] of [
        ["the envelope", sealed, "CredentialsAudience"],
        ["none", undefined, "CredentialsRequired"],
      ] as const) {
        const said = await deliver({ collection, id, generation: ++generation, spec: changed, sealed: envelope });
        const now = await secretOf(collection, id);
        if (said !== reason || now?.metadata.resourceVersion !== before?.metadata.resourceVersion)
          wrong.push(`${attack} with ${with_}: ${said}`);
      }
    expect(wrong).toEqual([]);
    for (const change of Object.values(world.harmless))
      expect(await deliver({ collection, id, generation: ++generation, spec: merged(spec, change) })).toBe("done");
    expect(textOf(await secretOf(collection, id))).toContain(CANARY);
  });

  test("goes nowhere else from a Secret that an earlier version wrote", async () => {
    const id = `${slug}-older`;
    const sealed = await sealedFor(collection, id, spec, credentials);
    expect(await deliver({ collection, id, generation: 1, spec, sealed })).toBe("done");
    const older = (await secretOf(collection, id))!;
    const { [AUDIENCE]: _, [OPENED]: __, ...annotations } = older.metadata.annotations!;
    await client.update(RESOURCES.secret, { ...older, metadata: { ...older.metadata, annotations } });
    const wrong: string[] = [];
    let generation = 1;
    for (const [attack, changed] of combined(world)) {
      const said = await deliver({ collection, id, generation: ++generation, spec: changed });
      if (said !== "CredentialsRequired") wrong.push(`${attack}: ${said}`);
    }
    // Host keys stand in a ConfigMap that all share: what an older Secret was given for cannot be told.
    expect(wrong.filter((one) => !one.startsWith("host keys: ") && !one.startsWith("host keys, beside"))).toEqual([]);
  });

  test("does not come back to what was allowed once, step by step", async () => {
    const id = `${slug}-steps`;
    const [attack, changed] = Object.entries(world.attacks).at(-1)!;
    const wide = merged(spec, changed);
    const one = await sealedFor(collection, id, wide, credentials);
    expect([attack, await deliver({ collection, id, generation: 1, spec: wide, sealed: one })]).toEqual([
      attack,
      "done",
    ]);
    const other = await sealedFor(collection, id, spec, credentials);
    expect(await deliver({ collection, id, generation: 2, spec, sealed: other })).toBe("done");
    expect(await deliver({ collection, id, generation: 3, spec: wide })).toBe("CredentialsRequired");
    expect(await deliver({ collection, id, generation: 4, spec: wide, sealed: one })).toBe("CredentialsReplayed");
    expect(await deliver({ collection, id, generation: 5, spec: wide, sealed: other })).toBe("CredentialsAudience");
  });
});

describe("an envelope", () => {
  const collection = "repositories";
  const spec = { ...AGENT, url: "https://git.corp/app.git" };

  test.each<[string, Partial<Delivered>]>([
    ["another object", { id: "elsewhere" }],
    ["another scope", { key: "evil/-/bound" }],
    ["another project", { key: "evil/p/bound" }],
    ["a template", { collection: "repositorycredentials" }],
    ["a cluster", { collection: "clusters", spec: { ...AGENT, server: "https://git.corp" } }],
  ])("does not open for %s", async (_, change) => {
    const sealed = await sealedFor(collection, "bound", spec, { password: CANARY });
    const what = { collection, id: "bound", generation: 1, spec, sealed, ...change } as Delivered;
    expect(await deliver(what)).toBe("CredentialsUnreadable");
    expect(await secretOf(what.collection, what.id)).toBeUndefined();
  });

  test("with another audience written on it does not open", async () => {
    const sealed = await sealedFor(collection, "rewritten", spec, { password: CANARY });
    const evil = { ...spec, url: "https://evil.example/app.git" };
    const audience = { ...sealed.audience, host: "evil.example" };
    expect(
      await deliver({ collection, id: "rewritten", generation: 1, spec: evil, sealed: { ...sealed, audience } }),
    ).toBe("CredentialsUnreadable");
    expect(
      await deliver({ collection, id: "rewritten", generation: 1, spec, sealed: { ...sealed, id: "A".repeat(22) } }),
    ).toBe("CredentialsUnreadable");
  });

  test("of a client of the version before is refused with what to do", async () => {
    const { id: _, audience: __, ...older } = await sealedFor(collection, "older", spec, { password: CANARY });
    const outcome = await putRepository(ctx, toObject({ collection, id: "older", generation: 1, spec, sealed: older }));
    expect(outcome).toMatchObject({
      kind: "stop",
      reason: "CredentialsUnbound",
      message: expect.stringContaining("upgrade the client"),
    });
  });

  test("that comes again, before the service heard that it arrived, changes nothing and is not a fault", async () => {
    const id = "again";
    const sealed = await sealedFor(collection, id, spec, { password: CANARY });
    const first = { collection, id, generation: 1, spec, sealed } as const;
    expect(await deliver(first)).toBe("done");
    const version = (await secretOf(collection, id))?.metadata.resourceVersion;
    expect(await deliver(first)).toBe("done");
    expect((await secretOf(collection, id))?.metadata.resourceVersion).toBe(version);
    // A newer specification was stored before the report of the first one arrived: it carries the same envelope.
    expect(await deliver({ ...first, generation: 2, spec: { ...spec, depth: 3 } })).toBe("done");
    expect(textOf(await secretOf(collection, id))).toContain(CANARY);
  });

  test("that two replicas open at once is written once", async () => {
    const id = "replicas";
    const sealed = await sealedFor(collection, id, spec, { password: CANARY });
    const what = { collection, id, generation: 1, spec, sealed } as const;
    expect(await Promise.all([deliver(what), deliver(what), deliver(what)])).toEqual(["done", "done", "done"]);
    expect((await secretOf(collection, id))?.metadata.annotations?.[OPENED]).toBe(sealed.id);
  });

  test("is not used again after newer credentials, nor after its object was deleted", async () => {
    const id = "once";
    const old = await sealedFor(collection, id, spec, { password: CANARY });
    const next = await sealedFor(collection, id, spec, { password: "new" });
    expect(await deliver({ collection, id, generation: 1, spec, sealed: old })).toBe("done");
    expect(await deliver({ collection, id, generation: 2, spec, sealed: next })).toBe("done");
    expect(await deliver({ collection, id, generation: 3, spec, sealed: old })).toBe("CredentialsReplayed");
    expect(textOf(await secretOf(collection, id))).not.toContain(CANARY);

    const tombstone = { ...toObject({ collection, id, generation: 4, spec }), op: "delete" } as WorkerObject;
    await until("the Secret to go", async () => (await removeSecret(ctx, tombstone)).kind === "done");
    for (const sealed of [old, next])
      expect(await deliver({ collection, id, generation: 1, spec, sealed, uid: "uid-anew" })).toBe(
        "CredentialsReplayed",
      );
    expect(await secretOf(collection, id)).toBeUndefined();
    const ids = (await client.get(RESOURCES.configMap, "default", OPENED_BEFORE)) as { value: KubeObject };
    expect(String((ids.value.data as Record<string, string>).ids).split("\n")).toEqual(
      expect.arrayContaining([old.id, next.id]),
    );
  });

  test("is remembered when many came after it", async () => {
    const id = "many";
    const first = await sealedFor(collection, id, spec, { password: CANARY });
    expect(await deliver({ collection, id, generation: 1, spec, sealed: first })).toBe("done");
    const secret = (await secretOf(collection, id))!;
    const others = Array.from({ length: 99 }, (_, i) => String(i).padStart(22, "x"));
    const annotations = { ...secret.metadata.annotations, [OPENED]: [...others, first.id].join(" ") };
    await client.update(RESOURCES.secret, { ...secret, metadata: { ...secret.metadata, annotations } });
    const sealed = await sealedFor(collection, id, spec, { password: "new" });
    expect(await deliver({ collection, id, generation: 2, spec, sealed })).toBe("done");
    expect((await secretOf(collection, id))?.metadata.annotations?.[OPENED]?.split(" ").length).toBe(100);
    expect(await deliver({ collection, id, generation: 3, spec, sealed: first })).toBe("CredentialsReplayed");
  });
});

test("an object that was created again does not inherit the credentials of the one before it", async () => {
  const what = {
    collection: "repositories",
    id: "anew",
    generation: 1,
    spec: { ...AGENT, url: "https://git.corp/app.git" },
  } as const;
  const sealed = await sealedFor("repositories", "anew", what.spec, { password: CANARY });
  expect(await deliver({ ...what, sealed })).toBe("done");
  expect(await deliver({ ...what, uid: "uid-other" })).toBe("CredentialsRequired");
});

test("a cluster that the agent signs in to by itself gets no sealed credentials", async () => {
  const spec = { ...AGENT, server: "https://k8s.corp", caData: "pem" };
  const credentials = { clientCertData: "c", clientKeyData: CANARY };
  const exec = { command: "aws" };
  const one = { collection: "clusters", id: "own", generation: 1 } as const;
  expect(
    await deliver({ ...one, spec: { ...spec, exec }, sealed: await sealedFor("clusters", "own", spec, credentials) }),
  ).toBe("CredentialsAudience");
  expect(await deliver({ ...one, spec, sealed: await sealedFor("clusters", "own", spec, credentials) })).toBe("done");
  expect(await deliver({ ...one, generation: 2, spec: { ...spec, exec } })).toBe("done");
  expect(textOf(await secretOf("clusters", "own"))).not.toContain(Buffer.from(CANARY).toString("base64"));
});
