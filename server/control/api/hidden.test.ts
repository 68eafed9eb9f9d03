import document from "../../../openapi/contract/openapi.json" with { type: "json" };
import { type OperationId, type OperationRow, operations } from "../../../openapi/contract/operations.ts";
import { ADA, CERTIFICATE } from "../../base/testing.ts";
import { delegatesOf } from "../testing/delegates.ts";
import { type Answer, startService, type TestService } from "../testing/service.ts";

// What exists somewhere must not be told from what exists nowhere, and no field reaches it: o1 asks, and everything is in the account, in o2, and
// in a project beside.
const source = { repoUrl: "https://h/x", path: "." };
/** A specification of each collection that is complete but for its references, which `agent` stands for. */
const SPECS: Record<string, (agent: string) => Record<string, unknown>> = {
  organizations: () => ({}),
  projects: () => ({}),
  agents: () => ({}),
  delegates: () => ({}),
  repositories: (agent) => ({ agent, url: "https://h/x" }),
  clusters: (agent) => ({ agent, server: "https://h" }),
  applications: (agent) => ({ agent, destination: {}, source }),
  applicationsets: (agent) => ({
    agent,
    generators: [{ list: { elements: [{ a: "b" }] } }],
    template: {
      metadata: { name: "x" },
      spec: { source: { repoURL: "https://h/x", path: "." }, destination: { server: "https://h" }, project: "p" },
    },
  }),
  appprojects: (agent) => ({ agent }),
  repositorycredentials: (agent) => ({ agent, url: "https://h/" }),
  repositorycertificates: (agent) => ({ agent, host: "h", type: "https", data: CERTIFICATE }),
  gnupgkeys: (agent) => ({ agent, publicKey: ADA }),
  webhooks: () => ({ provider: "github" }),
  // A mapping must be in its agent's scope, which `account.none` is in no scope below the account.
  argoprojectmappings: (agent) => ({ agent, argoProject: "x", targetOrg: "o2", targetProject: "p1" }),
  services: () => ({}),
  environments: (agent) => ({ type: "production", agents: [agent], clusters: [agent] }),
  pipelines: () => ({ steps: [{ id: "a", task: { kind: "shell.run", params: { script: "true" } } }] }),
};
const collections = Object.keys(SPECS).filter((one) => one !== "organizations" && one !== "projects");
const PLACES = { account: "", beside: "?org=o2", below: "?org=o2&project=p1" } as const;

let s: TestService;
let key: string;
let inProject: string;
const ids: Record<string, string> = {};
beforeAll(async () => {
  s = await startService();
  for (const org of ["o1", "o2"]) {
    await s.ask("PUT", `/v1/organizations/${org}`, { body: { spec: {} } });
    for (const project of ["p1", "p2"])
      await s.ask("PUT", `/v1/projects/${project}?org=${org}`, { body: { spec: {} } });
  }
  key = (await s.ask("POST", "/v1/apikeys?org=o1", { body: { id: "asks", role: "admin" } })).body.key;
  inProject = (await s.ask("POST", "/v1/apikeys?org=o1&project=p1", { body: { id: "asks", role: "admin" } })).body.key;
  const { create, tokenOf } = delegatesOf(() => s);
  const made: string[] = [];
  for (const [place, query] of Object.entries(PLACES)) {
    for (const collection of collections) {
      const { status } = await s.ask("PUT", `/v1/${collection}/hid-${place}${query}`, {
        body: { spec: SPECS[collection]!(`hid-${place}`) },
      });
      if (status === 201) made.push(`${collection} ${place}`);
    }
    ids[`task-${place}`] = (await create({}, query)).id;
    ids[`run-${place}`] = (await s.ask("POST", `/v1/pipelines/hid-${place}/run${query}`, { body: {} })).body?.id ?? "";
    ids[`token-${place}`] = (await tokenOf(`hid-${place}`, query)).id;
  }
  // A fixture that was refused would make every comparison below true for nothing.
  expect(made).toEqual(
    Object.keys(PLACES).flatMap((place) => collections.map((collection) => `${collection} ${place}`)),
  );
}, 60_000);
afterAll(() => s?.stop());

const NOWHERE: Record<string, string> = {
  id: "hid-nowhere",
  task: "01890000-0000-7000-8000-000000000000",
  run: "",
  token: "",
  deployment: "01890000-0000-4000-8000-000000000000",
  name: "x",
};
const people = (Object.entries(operations) as [OperationId, OperationRow][]).filter(
  ([id, row]) => ["viewer", "editor", "admin"].includes(row.access) && row.path.includes("{") && id !== "watch",
);
const BODIES: Partial<Record<OperationId, object>> = {
  runApplicationAction: { group: "apps", kind: "Deployment", name: "x", action: "restart" },
  rollbackApplication: { id: 1 },
};

/** The same question about something hidden and about nothing at all. */
async function question(
  operation: OperationId,
  row: OperationRow,
  place: string,
  scope: string,
  by: string,
): Promise<string> {
  const hidden = place !== "nowhere";
  // An id of the same form that nothing has.
  const other = (id: string) => id.replace(/[0-9a-f]{6}$/, "000000");
  const value = (name: string): string => {
    if (name === "id") return `hid-${place}`;
    if (name === "task" || name === "run" || name === "token")
      return hidden ? ids[`${name}-${place}`]! : other(ids[`${name}-account`]!);
    return NOWHERE[name] ?? "x";
  };
  const path = row.path.replace(/\{(\w+)\}/g, (_, name: string) => value(name) || "x");
  const spec = row.method === "PUT" ? SPECS[row.collection!]!("account.none") : { description: "x" };
  const empty = row.method === "POST" ? {} : undefined;
  const body =
    BODIES[operation] ?? (row.collection && row.method !== "GET" && row.method !== "DELETE" ? { spec } : empty);
  const headers: Record<string, string> = row.method === "PUT" ? { "if-match": '"0"' } : {};
  const query = row.scoped ? scope : "";
  const answer = await s.ask(row.method, `${path}${query}`, {
    key: by,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  return neutral(answer, [
    path,
    ...Object.values(ids),
    "hid-nowhere",
    ...Object.keys(PLACES).map((one) => `hid-${one}`),
    other(ids["task-account"]!),
    other(ids["run-account"]!),
    other(ids["token-account"]!),
  ]);
}

/** An answer without what differs by itself: the names that were asked for, and the request's own id. */
function neutral({ status, text }: Answer, names: string[]): string {
  let plain = text;
  for (const name of names.filter(Boolean).sort((a, b) => b.length - a.length)) plain = plain.replaceAll(name, "NAME");
  return `${status} ${plain.replace(/"instance":"[^"]*"/, '"instance":""').replace(/"org=[a-z0-9]+/g, '"org=')}`;
}

test.each(people)("%s: what is hidden is answered like what is missing", async (operation, row) => {
  const own = row.collection === "projects" ? "?org=o1" : "?org=o1";
  const missing = await question(operation, row, "nowhere", own, key);
  for (const place of Object.keys(PLACES))
    expect([place, await question(operation, row, place, own, key)]).toEqual([place, missing]);
  // A scope that may not be looked into is one that is not there.
  const nobody = await question(operation, row, "nowhere", "?org=nobody", key);
  expect(await question(operation, row, "beside", "?org=o2", key)).toBe(nobody);
  if (row.scoped && row.collection !== "projects") {
    expect(await question(operation, row, "below", "?org=o2&project=p1", key)).toBe(nobody);
    expect(await question(operation, row, "account", "", key)).toBe(nobody);
    expect(await question(operation, row, "account", "?org=o1&project=p2", inProject)).toBe(nobody);
    expect(await question(operation, row, "account", "?org=o1", inProject)).toBe(nobody);
  }
});

test("lists and their pages are the same, however much there is elsewhere", async () => {
  const lists = (Object.entries(operations) as [OperationId, OperationRow][]).filter(
    ([id, row]) =>
      id.startsWith("list") && id !== "listAudit" && id !== "listApiKeys" && row.scoped && !row.path.includes("{"),
  );
  const all = async () =>
    Promise.all(
      lists.map(async ([id, { path }]) => {
        const { text, headers } = await s.ask("GET", `${path}?org=o1&limit=2`, { key });
        return [id, text.replace(/"version":"?\d+"?/g, ""), headers.get("link")];
      }),
    );
  const before = await all();
  for (let i = 0; i < 5; i++) {
    for (const query of ["", "?org=o2"]) await s.ask("PUT", `/v1/agents/more-${i}${query}`, { body: { spec: {} } });
    await delegatesOf(() => s).create({}, "?org=o2");
  }
  expect(await all()).toEqual(before);
});

test("an id that is taken elsewhere is free here", async () => {
  for (const name of ["hid-beside", "hid-account"]) {
    expect(
      (await s.ask("PUT", `/v1/agents/${name}?org=o1`, { key, body: { spec: {} }, headers: { "if-none-match": "*" } }))
        .status,
    ).toBe(201);
    expect((await s.ask("DELETE", `/v1/agents/${name}?org=o1`, { key })).status).toBe(204);
  }
});

test("hidden and missing take the same time", async () => {
  const median = (all: number[]) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)]!;
  const apart = async () => {
    const times: Record<"hidden" | "missing", number[]> = { hidden: [], missing: [] };
    for (let i = 0; i < 150; i++) {
      for (const which of i % 2 ? (["hidden", "missing"] as const) : (["missing", "hidden"] as const)) {
        const began = performance.now();
        await s.ask("GET", which === "hidden" ? "/v1/agents/hid-beside?org=o2" : "/v1/agents/hid-nowhere?org=nobody", {
          key,
        });
        times[which].push(performance.now() - began);
      }
    }
    const [hidden, missing] = [median(times.hidden), median(times.missing)];
    return Math.abs(hidden - missing) / Math.max(1, 0.3 * missing);
  };
  // What else the machine does may tell them apart once; a difference that one could use is there every time.
  let least = await apart();
  for (let again = 0; again < 2 && least >= 1; again++) least = Math.min(least, await apart());
  expect(least).toBeLessThan(1);
});

// References that are texts: names of AppProjects in the agent's namespace. A hidden project is refused like one that is not there.
const TEXTS: [string, string, (project: string) => object][] = [
  ["applications", "/spec/argoProject", (argoProject) => ({ argoProject, destination: {}, source })],
  [
    "applicationsets",
    "/spec/template/spec/project",
    (project) => ({ ...SPECS.applicationsets!("x"), template: { metadata: { name: "x" }, spec: { project } } }),
  ],
];
test.each(TEXTS)("a project that %s name as a text at %s reaches no other scope", async (collection, pointer, spec) => {
  const put = (project: string) =>
    s.ask("PUT", `/v1/${collection}/text?org=o1`, {
      key,
      body: { spec: { ...spec(project), agent: "account.hid-account" } },
    });
  const names = ["hid-nowhere", "hid-beside", "hid-below"];
  const missing = await put("hid-nowhere");
  expect(missing).toMatchObject({ status: 422, body: { code: "argo_project_not_allowed", pointer } });
  for (const name of names) expect([name, neutral(await put(name), names)]).toEqual([name, neutral(missing, names)]);
  expect((await put("hid-account")).status).toBe(201);
  expect((await s.ask("DELETE", `/v1/${collection}/text?org=o1`, { key })).status).toBe(204);
});

type Schema = { [member: string]: any };
const schemas = document.components.schemas as unknown as Record<string, Schema>;

/** Every field of the contract that points at an object, found by its mark and by nothing that the service itself reads. */
function referencesIn(schema: Schema, path: string[], seen: Schema[] = []): { path: string[]; to: string }[] {
  if (schema["x-reference"]) return [{ path, to: schema["x-reference"] }];
  if (schema.$ref) {
    const target = schemas[schema.$ref.replace(/^.*\//, "")]!;
    return seen.includes(target) ? [] : referencesIn(target, path, [...seen, target]);
  }
  const inner: [string[], Schema][] = [
    ...Object.entries<Schema>(schema.properties ?? {}).map(([name, one]): [string[], Schema] => [[...path, name], one]),
    ...(["allOf", "anyOf", "oneOf"] as const).flatMap((word) =>
      (schema[word] ?? []).map((one: Schema): [string[], Schema] => [path, one]),
    ),
    ...(schema.items ? [[[...path, "0"], schema.items] as [string[], Schema]] : []),
    ...(typeof schema.additionalProperties === "object"
      ? [[[...path, "any"], schema.additionalProperties] as [string[], Schema]]
      : []),
  ];
  return inner.flatMap(([at, one]) => referencesIn(one, at, seen));
}
const NAMES: Record<string, string> = {
  repositories: "Repository",
  argoprojectmappings: "ArgoProjectMapping",
  clusters: "Cluster",
  applications: "Application",
  applicationsets: "ApplicationSet",
  appprojects: "AppProject",
  repositorycredentials: "RepositoryCredential",
  repositorycertificates: "RepositoryCertificate",
  gnupgkeys: "GnupgKey",
  webhooks: "Webhook",
  pipelines: "Pipeline",
  services: "Service",
  environments: "Environment",
  agents: "Agent",
  delegates: "Delegate",
  organizations: "Organization",
  projects: "Project",
};
const fields = Object.entries(NAMES).flatMap(([collection, name]) =>
  referencesIn(schemas[`${name}Spec`]!, []).map(({ path, to }) => ({ collection, field: path.join("/"), path, to })),
);

test("every reference of the contract is among those that are tried", () => {
  const marks = JSON.stringify(schemas).match(/"x-reference"/g)!.length;
  // One schema may be part of several fields, but none is left out.
  expect(fields.length).toBeGreaterThanOrEqual(marks);
  expect(fields.length).toBeGreaterThan(14);
  expect(Object.keys(NAMES).sort()).toEqual(Object.keys(SPECS).sort());
});

const refused = (status: number): boolean => status === 400 || status === 422;

function withReference(collection: string, path: string[], reference: string): Record<string, unknown> {
  const spec = structuredClone(SPECS[collection]!("account.hid-account"));
  if (path[0] === "sources") delete spec.source;
  let at: Record<string, any> = spec;
  for (const [i, step] of path.slice(0, -1).entries()) {
    const next = path[i + 1] === "0" ? [] : {};
    at[step] = Array.isArray(next) ? next : { ...(at[step] ?? {}) };
    at = at[step];
  }
  if (path.at(-1) === "repository") Object.assign(at, { repoUrl: undefined, path: "." });
  at[path.at(-1)!] = reference;
  return spec;
}

test.each(fields)("$collection/$field reaches no other scope", async ({ collection, path, to }) => {
  const put = async (reference: string, from: string) => {
    const answer = await s.ask("PUT", `/v1/${collection}/ref${from}`, {
      body: { spec: withReference(collection, path, reference) },
    });
    if (answer.status === 201) await s.ask("DELETE", `/v1/${collection}/ref${from}`);
    return answer;
  };
  const from = "?org=o1&project=p1";
  // Upwards it goes, as far as the target is concerned.
  expect((await put("account.hid-account", from)).body.code ?? "done").not.toBe("reference_not_found");
  const missing = await put("hid-nowhere", from);
  expect(missing).toMatchObject({
    status: 422,
    body: { code: "reference_not_found", pointer: `/spec/${path.join("/")}` },
  });
  const names = ["hid-nowhere", "hid-beside", "hid-below", "hid-account"];
  for (const reference of [
    "hid-beside",
    "hid-below",
    "hid-account",
    "org.hid-beside",
    "org.hid-account",
    "account.hid-beside",
    "account.hid-below",
  ]) {
    const want = neutral(await put(reference.replace(/hid-\w+/, "hid-nowhere"), from), names);
    expect([reference, neutral(await put(reference, from), names)]).toEqual([reference, want]);
    expect(want).toMatch(/^422 .*reference_not_found/);
  }
  for (const reference of [
    "o2.hid-beside",
    "o2.p1.hid-below",
    "project.hid-below",
    "account.o2.hid-beside",
    "org.o2.hid-beside",
    "../o2/hid-beside",
    "o2/hid-beside",
    "-/-/hid-account",
    "ORG.hid-beside",
    "org..hid-beside",
    ".hid-account",
    "hid-beside?org=o2",
    "hid-beside%00",
    "*",
    "",
  ])
    expect([reference, refused((await put(reference, from)).status)]).toEqual([reference, true]);
  // Nor downwards, from the account.
  for (const reference of ["hid-beside", "org.hid-beside", "o2.hid-beside"])
    expect([to, reference, refused((await put(reference, "")).status)]).toEqual([to, reference, true]);
});
