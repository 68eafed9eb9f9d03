import { validateWorkerTask } from "../../../openapi/contract/validators.js";
import { canonical } from "../../base/json/canonical.ts";
import { type Keys, makeKeys, sign } from "./keys.ts";
import { openSigned, type Trust, UNSIGNED } from "./verify.ts";

const task = {
  worker: "w1",
  task: "t1",
  kind: "shell.run",
  params: { script: "true" },
  fence: 1,
  attempt: 1,
  timeoutSeconds: 60,
};
let keys: Keys;
let trust: Trust;
const signed = (content: unknown, by = keys, body = canonical(content)) => ({
  body,
  signature: sign(by.signSeed, `outpost/signed/v1\n${body}`),
  keyId: "k1",
});
const open = (value: unknown) => openSigned(value, trust, validateWorkerTask);

beforeAll(async () => {
  keys = await makeKeys();
  trust = { serviceKeyId: "k1", serviceKey: keys.signKey, worker: "w1" };
});

test("takes what the service signed for this worker", () => {
  expect(open(signed(task))).toEqual({ kind: "done", value: task });
});

const refused: [string, (other: Keys) => unknown, string][] = [
  ["nothing", () => undefined, UNSIGNED.shape],
  ["a body without signature", () => ({ body: canonical(task), keyId: "k1" }), UNSIGNED.shape],
  ["a field beside the signed ones", () => ({ ...signed(task), extra: 1 }), UNSIGNED.shape],
  ["another key's id", () => ({ ...signed(task), keyId: "k2" }), UNSIGNED.key],
  ["another key's signature", (other) => signed(task, other), UNSIGNED.signature],
  ["a padded signature", () => ({ ...signed(task), signature: `${signed(task).signature}==` }), UNSIGNED.signature],
  [
    "a signature over other words",
    () => ({ ...signed(task), signature: sign(keys.signSeed, canonical(task)) }),
    UNSIGNED.signature,
  ],
  ["an unknown field", () => signed({ ...task, extra: 1 }), UNSIGNED.body],
  ["a missing field", () => signed({ ...task, fence: undefined }), UNSIGNED.body],
  ["a field of another type", () => signed({ ...task, fence: "1" }), UNSIGNED.body],
  ["what is not JSON", () => signed(task, keys, "{"), UNSIGNED.body],
  [
    "a field named twice",
    () => signed(task, keys, canonical(task).replace('"fence":1', '"fence":0,"fence":1')),
    UNSIGNED.body,
  ],
  ["white space", () => signed(task, keys, ` ${canonical(task)}`), UNSIGNED.body],
  ["another worker's task", () => signed({ ...task, worker: "w2" }), UNSIGNED.worker],
];
test.each(refused)("refuses %s", async (_name, given, reason) => {
  expect(open(given(await makeKeys()))).toMatchObject({ kind: "stop", reason });
});

// Guarantee 50 in small: no change of a signed body passes, whatever it touches.
test("takes none of 1000 changed bodies", () => {
  const good = signed(task);
  let seed = 50;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  const change = (text: string) => {
    const at = random(text.length);
    const other = String.fromCharCode(33 + random(94));
    return [
      text.slice(0, at) + other + text.slice(at + 1),
      text.slice(0, at) + text.slice(at + 1),
      text.slice(0, at) + other + text.slice(at),
    ][random(3)]!;
  };
  let tried = 0;
  let accepted = 0;
  while (tried < 1000) {
    const field = (["body", "signature", "keyId"] as const)[random(3)]!;
    const changed = { ...good, [field]: change(good[field]) };
    if (changed[field] === good[field]) continue;
    tried++;
    if (open(changed).kind === "done") accepted++;
  }
  expect(accepted).toBe(0);
});

test.each([
  ["nests deeper than can be followed", () => `{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`],
  ["is longer than is parsed", () => JSON.stringify("x".repeat(9 * 1024 * 1024))],
])("refuses a body that is rightly signed and %s", (_name, body) => {
  expect(open(signed(task, keys, body()))).toMatchObject({ kind: "stop", reason: UNSIGNED.body });
});
