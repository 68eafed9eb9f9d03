import { createHash, randomBytes } from "node:crypto";
import { Secret } from "../../base/secret.ts";

// Account names have no `_`, and the last part has a fixed length, so a text can be taken apart in one way only.
const KEY = /^opk_([a-z0-9](?:[-a-z0-9]{0,30}[a-z0-9])?)_([A-Za-z0-9_-]{43})$/;
const SESSION = /^ows_([a-z0-9](?:[-a-z0-9]{0,30}[a-z0-9])?)_([A-Za-z0-9_-]{43})$/;
// The account, the task, the fence of the lease and the service's MAC over the three.
const TASK = /^ott_([a-z0-9](?:[-a-z0-9]{0,30}[a-z0-9])?)_(t-[0-9a-f]{20})_([1-9][0-9]{0,14})_([A-Za-z0-9_-]{43})$/;

/** Accounts are the first part of keys, tokens and worker ids; 32 characters leave room for the rest. */
export const ACCOUNT = /^[a-z0-9](?:[-a-z0-9]{0,30}[a-z0-9])?$/;

/** 256 random bits cannot be guessed, so a plain SHA-256 is enough to store it. */
export const makeApiKey = (account: string) => new Secret(`opk_${account}_${randomBytes(32).toString("base64url")}`);
export const makeSession = (account: string) => new Secret(`ows_${account}_${randomBytes(32).toString("base64url")}`);

export type Credential =
  | { kind: "key" | "session"; account: string; hash: string }
  | { kind: "task"; account: string; task: string; fence: number; mac: string };

/** Reads the text of an `Authorization` header; undefined for anything that is no credential of ours. */
export function parseCredential(header: string | undefined): Credential | undefined {
  const text = /^Bearer +(\S+)$/i.exec(header ?? "")?.[1];
  if (!text || text.length > 200) return undefined;
  const key = KEY.exec(text);
  if (key) return { kind: "key", account: key[1]!, hash: hashCredential(text) };
  const session = SESSION.exec(text);
  if (session) return { kind: "session", account: session[1]!, hash: hashCredential(text) };
  const task = TASK.exec(text);
  return task ? { kind: "task", account: task[1]!, task: task[2]!, fence: Number(task[3]), mac: task[4]! } : undefined;
}

export function isApiKey(text: string): boolean {
  return KEY.test(text);
}

export function hashCredential(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
