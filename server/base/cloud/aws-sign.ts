import type { SignatureV4 } from "@smithy/signature-v4";
import type { AwsCredentials } from "./aws.ts";

type HttpRequest = Parameters<SignatureV4["presign"]>[0];

/** The service of AWS that is asked, and where. */
export interface AwsPlace {
  service: string;
  region: string;
  url: string;
}

/** Header fields that sign a POST to a service of AWS (Signature Version 4). All fields that are given are signed. */
export async function awsSigned(
  keys: AwsCredentials,
  place: AwsPlace,
  asked: { headers: Record<string, string>; body: string },
): Promise<Record<string, string>> {
  const request = requestTo(place, "POST", asked);
  const { headers } = await (await signer(keys, place)).sign(request);
  const { host: _, ...rest } = headers;
  return rest;
}

/** An address that any holder can use, for some seconds: a GET whose signature stands in the query. */
export async function awsPresigned(
  keys: AwsCredentials,
  place: AwsPlace,
  { headers, seconds }: { headers: Record<string, string>; seconds: number },
): Promise<string> {
  const request = requestTo(place, "GET", { headers });
  const { query = {} } = await (await signer(keys, place)).presign(request, { expiresIn: seconds });
  const { origin, pathname } = new URL(place.url);
  const fields = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(String(value))}`);
  return `${origin}${pathname}?${fields.join("&")}`;
}

/** AWS's own signer, which its clients bring along; it is loaded when it is needed. */
async function signer(credentials: AwsCredentials, { service, region }: AwsPlace): Promise<SignatureV4> {
  const { SignatureV4: Signer } = await import("@smithy/signature-v4");
  const { Hash } = await import("@smithy/core/serde");
  return new Signer({ credentials, service, region, sha256: Hash.bind(null, "sha256"), applyChecksum: false });
}

function requestTo(
  { url }: AwsPlace,
  method: string,
  { headers, body }: { headers: Record<string, string>; body?: string },
): HttpRequest {
  const { protocol, host, hostname, pathname, searchParams } = new URL(url);
  const query = Object.fromEntries(searchParams);
  return { method, protocol, hostname, path: pathname, query, headers: { ...headers, host }, body };
}

/** RFC 3986: all but letters, digits and `-._~`. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
