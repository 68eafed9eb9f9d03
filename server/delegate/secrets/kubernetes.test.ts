import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { type ApiServer, startApiServer } from "../../../test/cluster/apiserver.ts";
import { KubeClient } from "../../kube/client.ts";
import { parseKubeconfig } from "../../kube/config.ts";
import { temporaryFolder } from "../testing/temporary.ts";
import { kubernetesSource } from "./kubernetes.ts";

jest.setTimeout(90_000);
const dir = temporaryFolder();
let api: ApiServer;

beforeAll(async () => {
  api = await startApiServer();
  const client = new KubeClient(parseKubeconfig(readFileSync(api.kubeconfig, "utf8")));
  const secret = (namespace: string, name: string, data: Record<string, string>) => {
    const body = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, data };
    return client.json("POST", `/api/v1/namespaces/${namespace}/secrets`, { body });
  };
  const made = [
    await client.json("POST", "/api/v1/namespaces", {
      body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } },
    }),
    await secret("default", "db.prod", { password: Buffer.from("päss wörd").toString("base64"), bytes: "//4AAQ==" }),
    await secret("team", "db", { password: Buffer.from("of-the-team").toString("base64") }),
  ];
  expect(made.map(({ kind }) => kind)).toEqual(["done", "done", "done"]);
  await client.close();
});
afterAll(() => api?.stop());

const read = (path: string, key?: string, kubeconfig = api.kubeconfig) =>
  kubernetesSource({ env: {}, kubeconfig }).read(path, key, new AbortController().signal);

test("a Secret of the own namespace and of another one is read, byte for byte", async () => {
  expect(await read("db.prod", "password")).toEqual({ kind: "done", value: "päss wörd" });
  expect(await read("team/db", "password")).toEqual({ kind: "done", value: "of-the-team" });
});

test.each<[string, string, string | undefined, object]>([
  [
    "a name that is not there",
    "none",
    "k",
    { kind: "stop", reason: "SecretNotFound", message: "there is no Secret none in the namespace default" },
  ],
  ["a namespace that is not there", "none/db", "k", { kind: "stop", reason: "SecretNotFound" }],
  [
    "a key that is not there",
    "team/db",
    "k",
    { kind: "stop", reason: "SecretNotFound", message: "the Secret team/db has no key k" },
  ],
  ["no key", "team/db", undefined, { kind: "stop", reason: "SecretRefused" }],
  ["bytes", "db.prod", "bytes", { kind: "stop", reason: "SecretRefused", message: expect.stringMatching(/UTF-8/) }],
  ["a path into the API", "../../pods/x", "k", { kind: "stop", reason: "SecretRefused" }],
  ["a query", "db?watch=1", "k", { kind: "stop", reason: "SecretRefused" }],
])("%s is said by name", async (_name, path, key, want) => expect(await read(path, key)).toMatchObject(want));

test("without the right to read it a Secret is refused, with the right that is missing", async () => {
  expect(await read("team/db", "password", api.kubeconfigFor("limited"))).toEqual({
    kind: "stop",
    reason: "SecretRefused",
    message: "the delegate may not read Secret db in the namespace team: give it a Role with get on secrets",
  });
});

test("a cluster that is away may come back; a kubeconfig that is none is not quoted", async () => {
  const away = join(dir, "away");
  writeFileSync(away, readFileSync(api.kubeconfig, "utf8").replace(/127\.0\.0\.1:\d+/, "127.0.0.1:1"));
  expect(await read("team/db", "password", away)).toMatchObject({ kind: "again", reason: "SecretSourceUnavailable" });
  const wrong = join(dir, "wrong");
  writeFileSync(wrong, "token: {very-secret");
  const refused = await read("team/db", "password", wrong);
  expect([refused.kind, JSON.stringify(refused).includes("very-secret")]).toEqual(["stop", false]);
});
