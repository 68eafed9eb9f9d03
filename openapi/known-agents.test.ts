import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fingerprintOf, forgetAgent, refusedKey } from "./known-agents.ts";

const key = (n: number) => Buffer.alloc(32, n).toString("base64url");
const prod = (n: number, more: object = {}) => ({
  endpoint: "https://o.test",
  account: "default",
  agent: "prod",
  publicKey: key(n),
  ...more,
});
let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "outpost-known-"));
  path = join(dir, "known-agents.json");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));
const env = (more: Record<string, string> = {}) => ({ OUTPOST_CONFIG: join(dir, "config.json"), ...more });

test("the first key of an agent is remembered, in a file for the user alone; another one is refused with both fingerprints", () => {
  expect(refusedKey(env(), prod(1))).toBeUndefined();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(refusedKey(env(), prod(1))).toBeUndefined();
  const refused = refusedKey(env(), prod(2));
  expect(refused).toContain(fingerprintOf(key(1)));
  expect(refused).toContain(`OUTPOST_ACCEPT_AGENT_KEY=${fingerprintOf(key(2))}`);
  // It stays refused, and the old one stays known.
  expect(refusedKey(env(), prod(2))).toBe(refused);
  expect(refusedKey(env(), prod(1))).toBeUndefined();
});

test("a new key counts once its very fingerprint is accepted", () => {
  refusedKey(env(), prod(1));
  expect(refusedKey(env({ OUTPOST_ACCEPT_AGENT_KEY: fingerprintOf(key(3)) }), prod(2))).toMatch(/another key/);
  expect(refusedKey(env({ OUTPOST_ACCEPT_AGENT_KEY: fingerprintOf(key(2)) }), prod(2))).toBeUndefined();
  expect(refusedKey(env(), prod(2))).toBeUndefined();
  expect(refusedKey(env(), prod(1))).toMatch(/another key/);
});

test("an agent that the user has created again may have a new key, and no other agent may", () => {
  const at = { endpoint: "https://outpost.example.com", account: "acme", agent: "again" };
  const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map((key) => key.toString("base64url")) as [
    string,
    string,
  ];
  for (const agent of ["again", "other"]) expect(refusedKey(env(), { ...at, agent, publicKey: first })).toBeUndefined();
  forgetAgent(env(), at);
  expect(refusedKey(env(), { ...at, publicKey: second })).toBeUndefined();
  expect(refusedKey(env(), { ...at, agent: "other", publicKey: second })).toMatch(/another key/);
});

test("agents of other services, accounts and scopes have keys of their own", () => {
  const others = [
    { endpoint: "https://p.test" },
    { account: "acme" },
    { org: "o" },
    { org: "o", project: "p" },
    { agent: "dev" },
  ];
  expect(others.map((more, i) => refusedKey(env(), prod(i, more)))).toEqual(others.map(() => undefined));
  expect(refusedKey(env(), prod(0, { endpoint: "https://p.test/" }))).toBeUndefined();
  expect(Object.keys(JSON.parse(readFileSync(path, "utf8")))).toHaveLength(others.length);
});

test("a file that cannot be read refuses, rather than forgets", () => {
  writeFileSync(path, "[]");
  expect(refusedKey(env(), prod(1))).toMatch(/is not a JSON object/);
  expect(refusedKey(env({ OUTPOST_KNOWN_AGENTS: dir }), prod(1))).toMatch(/cannot be read/);
});

test("without a folder of settings nothing is remembered, unless a file is named", () => {
  const nowhere = { OUTPOST_CONFIG: join(dir, "none", "config.json") };
  expect([refusedKey(nowhere, prod(1)), refusedKey(nowhere, prod(2))]).toEqual([undefined, undefined]);
  const named = { ...nowhere, OUTPOST_KNOWN_AGENTS: join(dir, "named", "keys.json") };
  expect(refusedKey(named, prod(1))).toBeUndefined();
  expect(refusedKey(named, prod(2))).toMatch(/another key/);
});
