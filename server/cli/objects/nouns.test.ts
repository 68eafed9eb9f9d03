import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateSealKeys, open } from "../../../openapi/seal.ts";
import type { Json } from "../show.ts";
import { person } from "../testing.ts";
import { NOUNS } from "./nouns.ts";
import { application, applicationSet, delivered, held, webhook } from "./views/readiness.ts";
import { gnupgKey } from "./views/trust.ts";

const head = {
  uid: "u",
  generation: 2,
  version: "7",
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
};
const seen = { observedGeneration: 2, delivery: { state: "Delivered" } };
const made = {
  type: "ResourcesUpToDate",
  status: "True",
  reason: "ApplicationSetUpToDate",
  message: "",
  lastTransitionTime: "x",
};
const object = (spec: Json, status: Json = {}): Json => ({
  ...head,
  id: "a",
  spec: { agent: "prod", ...spec },
  status,
});

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "outpost-nouns-"));
});
afterEach(() => rm(dir, { recursive: true }));
const file = async (name: string, text: string): Promise<string> => {
  await writeFile(join(dir, name), text);
  return join(dir, name);
};

test("a file with every kind goes in the order in which references can be made", async () => {
  const kinds = NOUNS.map(({ schema }) => schema).reverse();
  const all = await file("all.yaml", kinds.map((kind) => `kind: ${kind}\nid: a\nspec: {}\n`).join("---\n"));
  const me = person(() => ({ body: object({}) }));
  expect((await me.types("apply", "-f", all)).exit).toBe(0);
  const order = me.requests.map((r) => r.operation!.slice(3));
  const before = (a: string, b: string) => expect(order.indexOf(a)).toBeLessThan(order.indexOf(b));
  for (const [a, b] of [
    ["Organization", "Project"],
    ["Project", "Agent"],
    ["Agent", "AppProject"],
    ["AppProject", "RepositoryCredential"],
    ["RepositoryCredential", "Repository"],
    ["RepositoryCertificate", "Repository"],
    ["GnupgKey", "Repository"],
    ["AppProject", "Cluster"],
    ["Repository", "Application"],
    ["Cluster", "Application"],
    ["Application", "ApplicationSet"],
  ] as const)
    before(a, b);
  expect(new Set(order).size).toBe(NOUNS.length);
});

test("generators and template come from files, in YAML or JSON", async () => {
  const generators = await file("generators.yaml", "- list:\n    elements: [{ name: a }]\n");
  const template = await file("template.json", '{"metadata":{"name":"{{ .name }}"},"spec":{"project":"default"}}');
  const me = person(() => ({ body: object({}) }));
  const words = [
    "appset",
    "create",
    "a",
    "--agent",
    "prod",
    "--generators-file",
    generators,
    "--template-file",
    template,
  ];
  const { exit, err } = await me.types(...words, "--applications-sync", "create-update");
  expect([exit, err]).toEqual([0, "✓ appset a created\n"]);
  expect(me.requests[0]!.body.spec).toEqual({
    agent: "prod",
    generators: [{ list: { elements: [{ name: "a" }] } }],
    template: { metadata: { name: "{{ .name }}" }, spec: { project: "default" } },
    syncPolicy: { applicationsSync: "create-update" },
  });
  const bad = await me.types("appset", "create", "a", "--template-file", await file("bad", "a: [1"));
  expect([bad.exit, bad.err]).toEqual([2, expect.stringContaining("is neither YAML nor JSON")]);
});

test("certificates and public keys come from files as they are", async () => {
  const me = person(() => ({ body: object({}) }));
  const pem = await file("ca.pem", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n");
  await me.types("cert", "create", "a", "--agent", "prod", "--host", "git.test", "--type", "https", "--data-file", pem);
  await me.types("gpg", "create", "a", "--agent", "prod", "--public-key-file", pem);
  expect(me.requests.map((r) => [r.operation, r.body.spec.data ?? r.body.spec.publicKey])).toEqual([
    ["putRepositoryCertificate", expect.stringMatching(/^-----BEGIN[\s\S]+-----\n$/)],
    ["putGnupgKey", expect.stringMatching(/^-----BEGIN[\s\S]+-----\n$/)],
  ]);
});

test("a proxy and what needs none are two flags, neither of which takes the other back", async () => {
  const me = person(() => ({ body: object({}) }));
  const words = ["repo", "create", "a", "--agent", "prod", "--url", "https://git.test/a"];
  const { exit, err } = await me.types(...words, "--proxy", "http://proxy.test", "--proxy-except", "git.test,.local");
  expect([exit, err]).toEqual([0, "✓ repo a created\n"]);
  expect(me.requests[0]!.body.spec).toMatchObject({ proxy: "http://proxy.test", noProxy: "git.test,.local" });
});

test("the credentials of a template are sealed to its agent, bound to the template", async () => {
  const keys = await generateSealKeys();
  const me = person(({ operation }) => {
    if (operation === "whoAmI") return { body: { account: "default", id: "me", role: "admin" } };
    if (operation === "getAgent") return { body: object({}, { sealKey: { id: "k1", publicKey: keys.publicKey } }) };
    return { body: object({}) };
  });
  const words = [
    "repocreds",
    "create",
    "team",
    "--agent",
    "prod",
    "--url",
    "https://git.test/team/",
    "--github-app-id",
    "7",
  ];
  const { exit, err } = await me.types(...words, "--github-app-private-key-file", "-");
  expect([exit, err]).toEqual([0, "✓ repocreds team created\n"]);
  expect(JSON.stringify(me.requests)).not.toContain("secret-from-stdin");
  const { spec } = me.requests.find((r) => r.operation === "putRepositoryCredential")!.body;
  expect(spec.githubApp).toEqual({ id: 7 });
  const context = {
    account: "default",
    org: undefined,
    project: undefined,
    collection: "repositorycredentials",
    id: "team",
  } as const;
  expect(await open(keys.privateKey, context, spec.sealedCredentials)).toEqual({
    githubAppPrivateKey: "secret-from-stdin",
  });
});

test.each<[string, string, Json, string]>([
  [
    "appset",
    "2 of 3 applications",
    object({}, { ...seen, conditions: [made], applications: apps("a", "b", "-c") }),
    " 2/3 ",
  ],
  [
    "appset",
    "the one that is not there",
    object({}, { ...seen, conditions: [made], applications: apps("-c") }),
    "application c: no space",
  ],
  ["appproject", "what it permits", object({ sourceRepos: ["*"], destinations: [{}, {}] }, seen), " 1        2 "],
  [
    "cert",
    "when it ends",
    object({ type: "https", host: "git.test" }, { ...seen, expiresAt: "2027-05-01T00:00:00Z" }),
    "2027-05-01",
  ],
  [
    "gpg",
    "that it has ended",
    object({}, { ...seen, keyId: "4AEE18F83AFDEB23", expiresAt: "2020-01-01T00:00:00Z" }),
    "expired at 2020",
  ],
  ["gpg", "that it never ends", object({}, { ...seen, keyId: "4AEE18F83AFDEB23" }), " never "],
  [
    "repocreds",
    "where its credentials are",
    object({ url: "https://git.test/" }, { ...seen, credentials: "Pending" }),
    " Pending ",
  ],
  [
    "webhook",
    "what the last call was",
    object({ provider: "gitea" }, { lastOutcome: "SignatureInvalid" }),
    " SignatureInvalid ",
  ],
])("the table of %s shows %s", async (word, _what, one, want) => {
  const { exit, out } = await person(() => ({ body: { items: [one] } })).types(word, "list");
  expect([exit, out]).toEqual([0, expect.stringContaining(want)]);
});

test("a set is shown with its applications as a table, and the step where there are steps", async () => {
  const status = { ...seen, conditions: [made], applications: apps("a", "-c") };
  const get = async (more: Json) =>
    (await person(() => ({ body: object({}, { ...status, ...more }) })).types("appset", "get", "a")).out;
  expect(await get({})).toMatch(
    /Applications\n +NAME +SYNC +HEALTH +REVISION +MESSAGE\n +a +Synced +Healthy[^\n]*\n +c +Synced +Degraded +\S* +no space/,
  );
  const steps = [{ name: "a", sync: "Synced", health: "Healthy", step: "2", state: "Waiting" }];
  expect(await get({ applications: steps })).toMatch(/STEP +MESSAGE\n +a .* 2 Waiting/);
});

test("an empty list says what there is none of", async () => {
  const { err } = await person(() => ({ body: { items: [] } })).types("appproject", "list");
  expect(err).toContain("no app projects here");
});

test.each<[string, (o: Json) => { ready: boolean; reason: string }, Json, boolean, string]>([
  ["on its way", held, object({}, { delivery: { state: "Pending" } }), false, "on its way to the agent"],
  [
    "refused",
    held,
    object({}, { ...seen, delivery: { state: "Refused", message: "the key is another's" } }),
    false,
    "the key is another's",
  ],
  ["with the agent", held, object({}, seen), true, "the agent has it"],
  ["found in the cluster", held, { ...object({}), origin: "discovered" }, true, "sees it in the cluster"],
  [
    "a repository found in the cluster",
    delivered,
    { ...object({}), origin: "discovered" },
    true,
    "sees it in the cluster",
  ],
  [
    "a set found in the cluster",
    applicationSet,
    { ...object({}, { conditions: [{ type: "ResourcesUpToDate", status: "True" }] }), origin: "discovered" },
    true,
    "0 applications",
  ],
  ["not compared yet", application, object({}, { observedGeneration: 9 }), false, "not compared with Git yet"],
  ["not generated", applicationSet, object({}, { ...seen, conditions: [] }), false, "to be made"],
  [
    "all there",
    applicationSet,
    object({}, { ...seen, conditions: [made], applications: apps("a") }),
    true,
    "1 application, Synced",
  ],
  ["revoked", gnupgKey, object({}, { ...seen, revoked: true }), false, "revoked"],
  ["never called", webhook, object({}), true, "never called"],
  ["wrongly signed", webhook, object({}, { lastOutcome: "SignatureInvalid" }), true, "not signed with its secret"],
])("an object that is %s is told so", (_what, judge, one, ready, reason) => {
  expect(judge(one)).toMatchObject({ ready, reason: expect.stringContaining(reason) });
});

/** Applications by name; one with a `-` in front is not well. */
function apps(...names: string[]): Json[] {
  return names.map((name) =>
    name.startsWith("-")
      ? { name: name.slice(1), sync: "Synced", health: "Degraded", message: "no space" }
      : { name, sync: "Synced", health: "Healthy" },
  );
}

test("an application that differs and is healthy waits for what differs, not for its health", () => {
  const resources = [{ kind: "ConfigMap", name: "c", status: "OutOfSync", health: "Healthy" }];
  const status = { observedGeneration: 2, sync: { status: "OutOfSync" }, health: { status: "Healthy" }, resources };
  expect(application(object({}, status)).reason).toBe("waiting for ConfigMap c: OutOfSync");
});
