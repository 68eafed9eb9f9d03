import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SetController } from "../../server/agent/appset/controller.ts";
import { APPLICATION_SET } from "../../server/agent/appset/reconcile/reconcile.ts";
import type { ApplicationSet } from "../../server/agent/appset/types.ts";
import { providers } from "../../server/control/api/webhooks/providers/table.ts";
import type { KubeClient } from "../../server/kube/client.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { type RunningForge, startForge } from "../servers/forge.ts";
import { startFront } from "../servers/front.ts";
import { makeServerCertificate } from "../servers/tls.ts";
import { CONFIG_MAP, value, type World, world } from "./engine-world.ts";
import { startSets, until } from "./set-world.ts";

let w: World;
let sets: SetController;
let home: KubeClient;
let forge: RunningForge;
let front: Awaited<ReturnType<typeof startFront>>;
let ca: string;
const folder = mkdtempSync(join(tmpdir(), "pulls-"));

beforeAll(async () => {
  w = await world();
  ({ sets, home } = await startSets(w));
  forge = await startForge("bitbucketServer", { "a.yaml": "a: 1\n" });
  await forge.repository.commit({ "b.txt": "b" }, "Change", { branch: "topic" });
  const made = await makeServerCertificate(folder);
  const pem = (path: string) => readFileSync(path, "utf8");
  ca = pem(made.ca);
  front = await startFront({
    to: Number(new URL(forge.apiUrl).port),
    tls: { certificate: pem(made.certificate), key: pem(made.key) },
  });
  await create(
    RESOURCES.secret,
    "bitbucket",
    { stringData: { token: forge.token } },
    { "argocd.argoproj.io/secret-type": "scm-creds" },
  );
  await create(CONFIG_MAP, "authority", { data: { "ca.pem": ca } });
}, 120_000);
afterAll(async () => {
  await sets?.stop();
  await home?.close();
  await front?.stop();
  await forge?.stop();
  await w?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const create = async (resource: Resource, name: string, fields: object, labels: Record<string, string> = {}) =>
  value(
    await w.client.create(resource, {
      apiVersion: "v1",
      kind: resource.kind,
      metadata: { name, namespace: w.namespace, labels },
      ...fields,
    } as KubeObject),
  );
const names = async () =>
  value(await w.client.list(RESOURCES.application, { namespace: w.namespace }))
    .items.filter(({ metadata }) => !metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.name)
    .sort();
const condition = async (name: string, type: string) =>
  (value(await w.client.get(APPLICATION_SET, w.namespace, name)) as ApplicationSet).status?.conditions?.find(
    (one) => one.type === type,
  );

/** A set that asks once a day by itself. */
const make = (name: string, more: object) => {
  const bitbucketServer = {
    project: "team",
    repo: "release",
    api: front.url,
    bearerToken: { tokenRef: { secretName: "bitbucket", key: "token" } },
  };
  return made(name, { pullRequest: { bitbucketServer: { ...bitbucketServer, ...more }, requeueAfterSeconds: 86_400 } });
};
const made = async (name: string, generator: object) => {
  value(
    await w.client.create(APPLICATION_SET, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata: { name, namespace: w.namespace },
      spec: {
        goTemplate: true,
        generators: [generator],
        template: {
          metadata: { name: `${name}-{{.number}}-{{.branch_slug}}`, finalizers: [] },
          spec: {
            project: "default",
            source: { repoURL: w.git.cloneUrl("none"), path: ".", targetRevision: "{{.head_sha}}" },
            destination: { name: "in-cluster", namespace: "x" },
          },
        },
      },
    }),
  );
};

/** What the service makes of the host's call, and tells the agent. */
function told(key: string): void {
  const clone = [{ href: "https://bitbucket.example/scm/team/release.git", name: "http" }];
  const repository = { slug: "release", project: { key: "TEAM" }, links: { clone } };
  const ref = (id: string) => ({ id: `refs/heads/${id}`, displayId: id, latestCommit: "a".repeat(40), repository });
  const payload = { eventKey: key, pullRequest: { id: 7, fromRef: ref("topic"), toRef: ref("main") } };
  const read = providers.bitbucketServer.read({ headers: { "x-event-key": key }, payload });
  if (typeof read === "string") throw new Error(read);
  for (const url of read.urls) sets.repositoryChanged(url);
}

test("a call of Bitbucket Server makes and removes a pull request's application, long before it would be asked again", async () => {
  await make("review", { caRef: { configMapName: "authority", key: "ca.pem" } });
  await until(
    () => condition("review", "ParametersGenerated"),
    (one) => one?.status === "True",
  );
  expect(await names()).toEqual([]);
  forge.pulls.push({ number: 7, title: "Seven", branch: "topic", base: "main", state: "open" });
  told("pr:opened");
  await until(names, (all) => all.join() === "review-7-topic");
  forge.pulls[0]!.state = "merged";
  told("pr:merged");
  await until(names, (all) => all.length === 0);
}, 120_000);

test("a host whose certificate nobody here trusts is named, and nothing is made", async () => {
  await make("untrusted", {});
  const said = await until(
    () => condition("untrusted", "ErrorOccurred"),
    (one) => one?.status === "True",
  );
  expect(said?.message).toMatch(/cannot be reached: .*certificate/);
  expect(said?.message).not.toContain(forge.token);
  await make("trusting", { insecure: true });
  await until(
    () => condition("trusting", "ParametersGenerated"),
    (one) => one?.status === "True",
  );
}, 120_000);

test("a plugin is asked again after a host's call, once for very many, and once more for what came while it answered", async () => {
  let parameters = ["one"];
  const waiting: ServerResponse[] = [];
  let asked = 0;
  let held = false;
  const answer = (response: ServerResponse, names: string[]) =>
    response.end(
      JSON.stringify({
        output: { parameters: names.map((number) => ({ number, branch_slug: "p", head_sha: "main" })) },
      }),
    );
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      asked++;
      if (held) waiting.push(response);
      else answer(response, parameters);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as { port: number };
    await create(CONFIG_MAP, "plug", { data: { baseUrl: `http://127.0.0.1:${port}`, token: "$plug:key" } });
    await create(RESOURCES.secret, "plug", { stringData: { key: "plugin-token" } });
    const plugin = { configMapRef: { name: "plug" }, requeueAfterSeconds: 86_400 };
    await made("plugged", { matrix: { generators: [{ list: { elements: [{ a: "1" }] } }, { plugin }] } });
    await until(names, (all) => all.join() === "plugged-one-p");
    expect(asked).toBe(1);

    parameters = ["two"];
    for (let i = 0; i < 200; i++) sets.repositoryChanged(`https://git.example/any/${i}`);
    await until(names, (all) => all.join() === "plugged-two-p");
    expect(asked).toBe(2);

    held = true;
    sets.repositoryChanged("https://git.example/any/thing");
    await until(
      async () => waiting.length,
      (n) => n === 1,
    );
    sets.ask("plugged");
    held = false;
    parameters = ["three"];
    answer(waiting[0]!, ["two"]);
    await until(names, (all) => all.join() === "plugged-three-p");
    expect(asked).toBe(4);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}, 120_000);
