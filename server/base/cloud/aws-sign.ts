import { createHash, createHmac } from "node:crypto";
import type { AwsCredentials } from "./aws.ts";

export interface AwsQuestion {
  service: string;
  region: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

/**
 * Header fields that sign a question to a service of AWS which speaks JSON: a POST without a query (Signature Version 4). All fields that are
 * given are signed.
 */
export function awsSigned(
  keys: AwsCredentials,
  { service, region, url, headers, body }: AwsQuestion,
  now = Date.now(),
) {
  const { host, pathname } = new URL(url);
  const date = new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
  const added = { "x-amz-date": date, ...(keys.sessionToken ? { "x-amz-security-token": keys.sessionToken } : {}) };
  const all = Object.entries({ ...headers, ...added, host }).map(
    ([name, value]) => [name.toLowerCase(), value.trim()] as const,
  );
  all.sort(([a], [b]) => (a < b ? -1 : 1));
  const names = all.map(([name]) => name).join(";");
  const asked = ["POST", pathname, "", ...all.map(([name, value]) => `${name}:${value}`), "", names, sha256(body)].join(
    "\n",
  );
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256(asked)].join("\n");
  const key = scope.split("/").reduce<string | Buffer>(hmac, `AWS4${keys.secretAccessKey}`);
  const signature = hmac(key, text).toString("hex");
  return {
    ...added,
    authorization: `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
