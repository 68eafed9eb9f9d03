import type { Application } from "../../server/agent/controller/application.ts";
import type { Log } from "../../server/agent/controller/deps.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { configMap, synced, value, type World, world } from "../journeys/engine-world.ts";

// An API server quotes what it refuses. Of a Secret that would be its content: nothing that is told of a Secret that cannot be applied, compared or
// read shows a value of it, in no encoding, neither of the one in Git nor of the one that is there.
const CANARY = "hunter2-correct-horse";
const LIVE = "live-battery-staple";
const secret = (name: string, rest: string, metadata = "") =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}${metadata}}\n${rest}\n`;
const base64 = (text: string) => Buffer.from(text).toString("base64");

const SHAPES: [string, string][] = [
  ["data that is not base64", secret("s", `data: {password: "${CANARY}!"}`)],
  ["data that is a number", secret("s", "data: {password: 20259999}")],
  ["data that is a list", secret("s", `data: {password: ["${CANARY}"]}`)],
  ["data that is an object", secret("s", `data: {password: {inner: "${CANARY}"}}`)],
  ["data that is a text", secret("s", `data: "${CANARY}"`)],
  ["data that is a list of all", secret("s", `data: ["${CANARY}", "${base64(CANARY)}"]`)],
  ["a text that is an object", secret("s", `stringData: {password: {inner: "${CANARY}"}}`)],
  ["texts that are a list", secret("s", `stringData: ["${CANARY}"]`)],
  ["texts that are a text", secret("s", `stringData: "${CANARY}"`)],
  ["a key that is none", secret("s", `stringData: {"pass word/${"x".repeat(300)}": "${CANARY}"}`)],
  ["a field that Secrets do not have", secret("s", `password: "${CANARY}"\nstringData: {a: b}`)],
  ["a type that it does not fit", secret("s", `type: kubernetes.io/tls\nstringData: {password: "${CANARY}"}`)],
  [
    "a registry's file that is not JSON",
    secret("s", `type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: "{${CANARY}"}`),
  ],
  [
    "an old registry's file that is not JSON",
    secret("s", `type: kubernetes.io/dockercfg\nstringData: {.dockercfg: "${CANARY}"}`),
  ],
  ["a type that changes", secret("typed", `type: example.com/other\nstringData: {password: "${CANARY}"}`)],
  ["an immutable one that changes", secret("fixed", `immutable: true\nstringData: {password: "${CANARY}"}`)],
  ["an immutable flag that is a text", secret("s", `immutable: "${CANARY}"\nstringData: {password: "${CANARY}"}`)],
  ["labels that are wrong", secret("s", `stringData: {password: "${CANARY}"}`, `, labels: {a: "${CANARY} !"}`)],
  [
    "an annotation that is too long",
    secret("s", `stringData: {password: "${CANARY}"}`, `, annotations: {a: "${"x".repeat(270_000)}${CANARY}"}`),
  ],
  ["more than fits", secret("s", `stringData: {password: "${CANARY}${"x".repeat(1_100_000)}"}`)],
  ["finalizers that are wrong", secret("s", `stringData: {password: "${CANARY}"}`, `, finalizers: ["${CANARY}"]`)],
  ["a namespace that is missing", secret("s", `stringData: {password: "${CANARY}"}`, ", namespace: nowhere")],
  ["a name that is none", secret('"Not A Name"', `stringData: {password: "${CANARY}"}`)],
  ["a key twice", secret("s", `stringData: {password: "${CANARY}"}\nstringData: {password: "${CANARY}2"}`)],
  ["YAML that ends too soon", secret("s", `stringData: {password: "${CANARY}"`)],
  ["a tag that nobody knows", secret("s", `stringData: {password: !vault "${CANARY}"}`)],
  ["a mark of another language", secret("s", `stringData: {password: {{ .Values.${CANARY.replaceAll("-", "")} }}}`)],
];

let w: World;
const logged: string[] = [];
beforeAll(async () => {
  const put = (fields: object, message: string) => void logged.push(JSON.stringify([message, fields]));
  const log: Log = { info: put, warn: put, error: put };
  w = await world({ log });
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const encodings = (text: string) => [
  text,
  base64(text),
  base64(`${text}!`).slice(0, 20),
  [...Buffer.from(text)].join(" "),
  [...Buffer.from(text)].map((b) => `0x${b.toString(16)}`).join(","),
];
const shown = (what: unknown) => {
  const all = JSON.stringify(what);
  return [...encodings(CANARY), ...encodings(LIVE), "20259999"].filter((one) => all.includes(one));
};
const refused = (app: Application) =>
  app.status?.operationState?.phase === "Failed" ||
  app.status?.conditions?.some(({ type }) => type === "ComparisonError" || type === "SharedResourceWarning") === true;

test.each(SHAPES.map(([title, yaml], i) => [title, yaml, `bad-${i}`] as const))(
  "a Secret that cannot be applied is refused, and no value of it is told: %s",
  async (_, yaml, name) => {
    value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
    for (const [its, more] of [
      ["typed", { type: "Opaque" }],
      ["fixed", { immutable: true }],
      ["s", {}],
    ] as const) {
      const object = {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: its, namespace: name },
        stringData: { password: LIVE },
        ...more,
      };
      value(await w.client.create(RESOURCES.secret, object));
    }
    await w.git.createRepository(name, { files: { "a.yaml": yaml, "b.yaml": configMap("beside", {}) } });
    for (const [app, syncOptions] of [
      [name, []],
      [`${name}-r`, ["Replace=true", "ServerSideApply=true", "Validate=false"]],
    ] as const) {
      const syncPolicy = {
        automated: { prune: true, selfHeal: true },
        retry: { limit: 0 },
        syncOptions: [...syncOptions],
      };
      await w.app(app, { repo: name, destination: { name: "in-cluster", namespace: name }, syncPolicy });
      const ended = await w.until(app, (a) => refused(a) || synced(a), "over");
      if (process.env.DEBUG)
        console.log(
          JSON.stringify([
            ended.status?.operationState?.message,
            ended.status?.conditions?.map((c) => c.message),
          ]).slice(0, 1_500),
        );
      // Git's own labels and finalizers are no secrets; that they are quoted is what helps.
      if (!/^labels|^finalizers/.test(_)) expect([app, shown([ended.status, ended.operation])]).toEqual([app, []]);
    }
  },
  60_000,
);

test("nor is one in a log", () => expect(shown(logged)).toEqual([]));
