import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { startService, type TestService } from "../../server/control/testing/service.ts";
import {
  createTask,
  type getTask,
  type LocalDelegate,
  logsOf,
  makeDelegate,
  startDelegate,
  waitTask,
} from "../../server/delegate/testing/delegate.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import { type ApiServer, startApiServer } from "../cluster/apiserver.ts";
import { buildTools, canHave } from "../cluster/tools.ts";
import { type Aws, startAws } from "../servers/aws.ts";
import { freePort, until } from "../servers/run.ts";
import { startVault, type Vault } from "../servers/vault.ts";
import { pick, random } from "./random.ts";

/**
 * Canaries in every place that a task can have secrets in, from every source; tasks then do all they can to show them. Nothing of them may be
 * found in the service's store, its API, its metrics, the delegate's log or its metrics.
 */
jest.setTimeout(180_000);
const SEED = Number(process.env.SEED ?? 41);
const dir = realpathSync(mkdtempSync(join(tmpdir(), "outpost-canaries-")));
const said: string[] = [];
const stderr = process.stderr.write;
let service: TestService;
let delegate: LocalDelegate;
let api: ApiServer;
let aws: Aws;
/** Vault is built from its source, which needs Go. */
let vault: Vault | undefined;
const SOURCES = canHave("vault") ? 5 : 4;
let port: number;
/** Answers with what it was asked, as a chatty server does. */
let echo: Server;

const dice = random(SEED);
const text = (alphabet: string, length: number) => Array.from({ length }, () => pick([...alphabet], dice)).join("");
const LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
const styles: (() => string)[] = [
  () => text(LETTERS, 16),
  () => text(`${LETTERS}!@#$%^&*()_+-=[]{};:'",.<>/?\\|\`~ `, 30).trim().padEnd(24, "k"),
  () => `postgres://app:${text(LETTERS, 18)}@db.internal/app`,
  () => text("0123456789abcdef", 64),
  () => `${text(LETTERS, 10)}äöü€ß𝔘${text(LETTERS, 6)}`,
  () => `-----BEGIN KEY-----\n${[1, 2, 3].map(() => text(`${LETTERS}+/`, 64)).join("\n")}\n-----END KEY-----\n`,
  () => JSON.stringify({ password: text(LETTERS, 20), host: text(LETTERS, 12) }),
  () => text(`${LETTERS}+/`, 300),
];
const canaries = Array.from({ length: SOURCES * 8 }, (_, i) => ({
  name: `S${i}`,
  value: styles[i % styles.length]!(),
  source: Math.floor(i / 8),
}));
const reference = ({ name, source }: (typeof canaries)[number]) =>
  [
    `\${secret:env/${name}}`,
    `\${secret:file/below/${name}}`,
    `\${secret:kubernetes/team/canaries#${name}}`,
    `\${secret:aws/canaries/${name}}`,
    `\${secret:vault/secret/canaries#${name}}`,
  ][source]!;

beforeAll(async () => {
  [service, api, aws, vault, port] = await Promise.all([
    startService(),
    startApiServer(),
    startAws({ users: { AKIATEST: { secretAccessKey: "the-delegates-own-secret-key" } } }),
    SOURCES > 4 ? buildTools(() => {}, ["vault"]).then(() => startVault()) : undefined,
    freePort(),
  ]);
  echo = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const all = JSON.stringify({ headers: request.headers, body });
    response
      .writeHead(500, { "x-was": encodeURIComponent(body.slice(0, 500)), "content-type": "application/json" })
      .end(all);
  });
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
  const of = (source: number) => canaries.filter((canary) => canary.source === source);
  mkdirSync(join(dir, "secrets/below"), { recursive: true });
  for (const { name, value } of of(1)) writeFileSync(join(dir, "secrets/below", name), value);
  await vault?.put("secret/canaries", Object.fromEntries(of(4).map(({ name, value }) => [name, value])));
  await vault?.policy("canaries", { "secret/data/canaries": ["read"] });
  for (const { name, value } of of(3)) aws.secrets.set(`canaries/${name}`, value);
  const client = new KubeClient(parseKubeconfig(readFileSync(api.kubeconfig, "utf8")));
  const data = Object.fromEntries(of(2).map(({ name, value }) => [name, Buffer.from(value).toString("base64")]));
  await client.json("POST", "/api/v1/namespaces", {
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } },
  });
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "canaries", namespace: "team" }, data };
  expect((await client.json("POST", "/api/v1/namespaces/team/secrets", { body: secret })).kind).toBe("done");
  await client.close();
  const config = {
    sources: {
      kubernetes: { type: "kubernetes", kubeconfig: api.kubeconfig },
      ...(vault ? { vault: { type: "vault", address: vault.url, auth: { token: { env: "VAULT" } } } } : {}),
      aws: { type: "aws-secrets-manager", region: "eu-central-1", endpoint: aws.url },
    },
  };
  writeFileSync(join(dir, "delegate.yaml"), JSON.stringify(config));
  process.stderr.write = ((part: string) => said.push(String(part)) > 0) as never;
  const { token } = await makeDelegate(service, "one", { capacity: 4 });
  delegate = await startDelegate(service, {
    id: "one",
    token,
    workDir: join(dir, "work"),
    env: {
      ...Object.fromEntries(of(0).map(({ name, value }) => [`OUTPOST_SECRET_${name}`, value])),
      OUTPOST_CONFIG_FILE: join(dir, "delegate.yaml"),
      OUTPOST_SECRETS_DIR: join(dir, "secrets"),
      OUTPOST_SECRET_PIN: "12345",
      OUTPOST_SECRET_HUGE: text(LETTERS, 40_000),
      VAULT: (await vault?.createToken({ policies: ["canaries"] })) ?? "",
      AWS_ACCESS_KEY_ID: "AKIATEST",
      AWS_SECRET_ACCESS_KEY: "the-delegates-own-secret-key",
      OUTPOST_LISTEN: `127.0.0.1:${port}`,
      OUTPOST_LOG_LEVEL: "debug",
    },
  });
}, 20 * 60_000);
afterAll(async () => {
  await delegate?.stop();
  echo?.close();
  process.stderr.write = stderr;
  await Promise.all([service?.stop(), api?.stop(), aws?.stop(), vault?.stop()]);
  rmSync(dir, { recursive: true, force: true });
});

const env = () => Object.fromEntries(canaries.map((canary) => [canary.name, reference(canary)]));

/** Shows each variable in every way that the author could think of. */
const SHOW = `#!/usr/bin/env -S node --no-warnings
const fs = require("node:fs");
const pct = encodeURIComponent;
const all = Object.entries(process.env).filter(([name]) => /^S\\d+$/.test(name));
const waits = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
for (const [name, s] of all) {
  const b = Buffer.from(s);
  const shown = [
    s, s.trim(), JSON.stringify({ s }), JSON.stringify(JSON.stringify([s])), pct(s), pct(s).toLowerCase().replace(/%../g, (c) => c), new URLSearchParams({ s }).toString(), pct(pct(s)),
    b.toString("base64"), Buffer.from("u" + s).toString("base64"), Buffer.from("us" + s + "\\n").toString("base64"), b.toString("base64url"),
    b.toString("base64").replace(/.{76}/g, "$&\\n"), b.toString("base64").replace(/.{64}/g, "$&\\r\\n"), Buffer.from(b.toString("base64")).toString("base64"),
    b.toString("hex"), b.toString("hex").toUpperCase(), [...s].reverse().join(""), s.replace(/^/gm, "      "), s.replace(/.{20}/g, "$&\\n"),
    "'" + s.replaceAll("'", "'\\\\''") + "'", s.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"), s.split("\\n").join(" | "),
  ];
  for (const [i, text] of shown.entries()) {
    const fd = i % 2 ? 1 : 2;
    fs.writeSync(fd, name + " " + i + ": " + text + "\\n");
    const bytes = Buffer.from(text);
    const cut = 1 + (i * 7) % (bytes.length - 1);
    fs.writeSync(1, bytes.subarray(0, cut));
    waits();
    fs.writeSync(1, Buffer.concat([bytes.subarray(cut), Buffer.from("\\n")]));
  }
  const line = s.replaceAll("\\n", " ");
  fs.appendFileSync(process.env.OUTPOST_OUTPUT, name + "=" + line + "\\n" + name + ".json=" + JSON.stringify(s) + "\\n" + name + ".b64=" + b.toString("base64") + "\\n");
  if (/^[A-Za-z][A-Za-z0-9]*$/.test(s)) fs.appendFileSync(process.env.OUTPOST_OUTPUT, s + "=as a name\\n");
}
console.log("all " + all.length + " shown");
throw new Error("failed with " + all.map(([, s]) => s).join(" and "));
`;
const TRACE = `set -x
for name in $(env | sed -n 's/^\\(S[0-9]*\\)=.*/\\1/p'); do eval "value=\\$$name"; : "$value"; printf '%s' "$value" | base64; printf '%q\\n' "$value" 2>/dev/null; done
env; cat /nonexistent/"$S0"; "$S8" --help; exit 9`;

test("what tasks show of their secrets is found nowhere", async () => {
  const clone = (canary: (typeof canaries)[number]) =>
    createTask(service, {
      kind: "git.clone",
      params: { url: "http://127.0.0.1:1/code.git", username: reference(canary), password: reference(canary) },
    });
  const ids = {
    shown: await createTask(service, { params: { script: SHOW, env: env() } }),
    traced: await createTask(service, { params: { script: TRACE, env: env() } }),
    cancelled: await createTask(service, {
      params: { script: 'echo begin; printf %s "$S3"; printf %s "$S7" | base64; sleep 60', env: env() },
    }),
    late: await createTask(service, {
      params: { script: 'printf "%s" "$S11"; sleep 60', env: env() },
      timeoutSeconds: 3,
    }),
    asked: await createTask(service, {
      kind: "http.request",
      params: {
        url: `http://127.0.0.1:${(echo.address() as AddressInfo).port}/`,
        method: "POST",
        headers: { "x-token": reference(canaries[0]!), "x-other": reference(canaries[16]!) },
        body: canaries.map(reference).join("\n"),
        username: reference(canaries[3]!),
        password: reference(canaries[9]!),
      },
    }),
    cloned: await clone(canaries[0]!),
    clonedToo: await clone(canaries[16]!),
    tooShort: await createTask(service, { params: { script: "true", env: { ...env(), P: "${secret:env/PIN}" } } }),
    tooLong: await createTask(service, { params: { script: "true", env: { ...env(), P: "${secret:env/HUGE}" } } }),
    missing: await createTask(service, { params: { script: "true", env: { ...env(), P: "${secret:aws/none}" } } }),
    badName: await createTask(service, {
      params: { script: "true", env: { ...env(), "no name": reference(canaries[1]!) } },
    }),
  };
  await waitTask(service, ids.cancelled, "Running", 60_000);
  await until("it has written", async () => (await logsOf(service, ids.cancelled)).lines.length, 60_000);
  await service.ask("POST", `/v1/tasks/${ids.cancelled}/cancel`);
  const ended = new Map<string, Awaited<ReturnType<typeof getTask>>>();
  for (const [name, id] of Object.entries(ids)) ended.set(name, await waitTask(service, id, undefined, 90_000));
  const how = Object.fromEntries([...ended].map(([name, task]) => [name, [task.state, task.reason]]));
  expect(how).toEqual({
    shown: ["Failed", "ScriptFailed"],
    traced: ["Failed", "ScriptFailed"],
    cancelled: ["Cancelled", expect.any(String)],
    late: ["TimedOut", expect.any(String)],
    asked: ["Failed", expect.any(String)],
    cloned: ["Failed", "FetchFailed"],
    clonedToo: ["Failed", "FetchFailed"],
    tooShort: ["Failed", "SecretTooShort"],
    tooLong: ["Failed", "ParamsInvalid"],
    missing: ["Failed", "SecretNotFound"],
    badName: ["Failed", "ParamsInvalid"],
  });

  // They did show them: every line is there, with the mask.
  const shown = (await logsOf(service, ids.shown)).lines.map((line) => line.text);
  expect(shown.filter((line) => line.includes("[secret]")).length).toBeGreaterThan(canaries.length * 23);
  expect(shown).toContain(`all ${canaries.length} shown`);
  expect(ended.get("shown")!.outputs).toMatchObject({ exitCode: 1, S0: "[secret]", S3: "[secret]" });
  expect(JSON.stringify(ended.get("asked")!.outputs)).toContain("x-token");
  expect(JSON.stringify(ended.get("shown")!.params)).toContain(JSON.stringify(reference(canaries.at(-1)!)));

  const store = await storeOf(service);
  const places: Record<string, string> = {
    store,
    tasks: (await service.ask("GET", "/v1/tasks?limit=100")).text,
    audit: (await service.ask("GET", "/v1/audit?limit=500")).text,
    logs: JSON.stringify(await Promise.all(Object.values(ids).map((id) => logsOf(service, id)))),
    // Wrapped lines, put together again.
    joined: (await Promise.all(Object.values(ids).map((id) => logsOf(service, id))))
      .map(({ lines: all }) => all.map((line) => line.text).join(""))
      .join("\n"),
    delegateLog: said.join(""),
    delegateMetrics: await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
  };
  expect(store).toContain(ids.shown);
  expect(places.delegateLog).toContain(ids.shown);
  const hits = Object.entries(places).flatMap(([place, content]) =>
    canaries.flatMap(({ name, value }) =>
      forms(value)
        .filter((form) => content.includes(form))
        .map((form) => `${name} in ${place}: ${form.slice(0, 40)}`),
    ),
  );
  expect(hits).toEqual([]);
  for (const [place, content] of Object.entries(places))
    expect([place, content.includes("the-delegates-own-secret-key")]).toEqual([place, false]);
});

test("a script that holds a reference is refused with a way to do it", async () => {
  const id = await createTask(service, { params: { script: "echo ${secret:env/S0}" } }).catch(
    (error: Error) => error.message,
  );
  if (/^t-/.test(id))
    expect(await waitTask(service, id)).toMatchObject({
      state: "Failed",
      reason: "SecretRefused",
      message: expect.stringMatching(/env/),
    });
  else expect(id).toMatch(/secret/i);
});

/** How a value may be recognised in a text; not made by the code that is tested. */
function forms(value: string): string[] {
  const lines = value.split("\n").filter((line) => line.length > 12 && !line.startsWith("-----"));
  const found = [value, ...lines].flatMap((s) => {
    const bytes = Buffer.from(s);
    const base64 = [0, 1, 2].map((shift) =>
      Buffer.from("x".repeat(shift) + s)
        .toString("base64")
        .slice(shift ? 4 : 0, -4),
    );
    const json = JSON.stringify(s).slice(1, -1);
    return [
      s,
      s.trim(),
      json,
      JSON.stringify(json).slice(1, -1),
      encodeURIComponent(s),
      ...base64,
      ...base64.map((b) => b.replaceAll("+", "-").replaceAll("/", "_")),
      bytes.toString("hex"),
      bytes.toString("hex").toUpperCase(),
      [...s].reverse().join(""),
    ];
  });
  return [...new Set(found)].filter((form) => form.length >= 10);
}

/** Every row of every table. */
async function storeOf({ db }: TestService): Promise<string> {
  const tables = await db.query<{ name: string }>(
    "select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')",
  );
  const rows = [];
  for (const { name } of tables) rows.push(await db.query(`select * from ${name}`));
  return JSON.stringify(rows, (_, v) =>
    v?.type === "Buffer" || v instanceof Uint8Array ? Buffer.from(v.data ?? v).toString("latin1") : v,
  );
}
