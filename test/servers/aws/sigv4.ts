import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/**
 * AWS's Signature Version 4 in the Authorization header, checked as its specification says ("Create a signed AWS API
 * request"), with no code of AWS's; in the query string, as of an address that is signed in advance, it is brought into the header's form.
 */
export interface SignedRequest {
  method: string;
  /** Path and query as they came over the wire. */
  target: string;
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
  /** The query of an address that is signed in advance. */
  presigned?: URLSearchParams;
}

export interface Credential {
  secretAccessKey: string;
  sessionToken?: string;
  expires?: number;
}

export type Verdict =
  | { accessKeyId: string; region: string; service: string }
  | {
      refused: "missing" | "malformed" | "unknown key" | "wrong token" | "expired token" | "skewed" | "wrong signature";
      message: string;
    };

const SKEW_MS = 15 * 60_000;
const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();

/** A request that is signed by its address as one that is signed by its headers; its canonical form keeps the query without the signature. */
function unfolded(request: SignedRequest): SignedRequest {
  const [path = "/", query = ""] = request.target.split(/\?(.*)/s);
  const all = new URLSearchParams(query);
  const signature = all.get("X-Amz-Signature");
  if (!signature || request.headers.authorization) return request;
  const authorization = `${all.get("X-Amz-Algorithm")} Credential=${all.get("X-Amz-Credential")}, SignedHeaders=${all.get("X-Amz-SignedHeaders")}, Signature=${signature}`;
  const rest = query.split("&").filter((pair) => !pair.startsWith("X-Amz-Signature="));
  return {
    ...request,
    target: `${path}?${rest.join("&")}`,
    headers: { ...request.headers, authorization },
    presigned: all,
  };
}

export function verify(
  given: SignedRequest,
  find: (accessKeyId: string) => Credential | undefined,
  now = Date.now(),
): Verdict {
  const request = unfolded(given);
  const refuse = (refused: Extract<Verdict, { refused: unknown }>["refused"], message: string): Verdict => ({
    refused,
    message,
  });
  const header = (name: string) => [request.headers[name] ?? []].flat().join(",");
  const authorization = header("authorization");
  if (!authorization) return refuse("missing", "Request is missing Authentication Token");
  const form = /^AWS4-HMAC-SHA256 +Credential=([^, ]+), *SignedHeaders=([^, ]+), *Signature=([0-9a-f]{64})$/.exec(
    authorization,
  );
  const [accessKeyId, day, region, service, end, ...rest] = form?.[1]?.split("/") ?? [];
  if (!form || !accessKeyId || !day || !region || !service || end !== "aws4_request" || rest.length)
    return refuse("malformed", "Authorization header is not in the form of Signature Version 4");

  const date = request.presigned?.get("X-Amz-Date") ?? header("x-amz-date");
  const at = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date);
  if (!at || !date.startsWith(day))
    return refuse("malformed", "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date");
  const key = find(accessKeyId);
  if (!key) return refuse("unknown key", "The security token included in the request is invalid.");
  if (
    key.sessionToken !==
    (request.presigned?.get("X-Amz-Security-Token") ?? (header("x-amz-security-token") || undefined))
  )
    return refuse("wrong token", "The security token included in the request is invalid.");

  const signed = form[2]!.split(";");
  const needed = ["host", ...Object.keys(request.headers).filter((name) => /^x-(amz|k8s)-/.test(name))];
  const unsigned = needed.filter((name) => !signed.includes(name));
  if (unsigned.length)
    return refuse("malformed", `'${unsigned[0]}' must be a 'SignedHeader' in the AWS Authorization.`);
  const hash = sha256(request.body);
  const said = header("x-amz-content-sha256");
  if (said && said !== hash)
    return refuse("wrong signature", "The value of x-amz-content-sha256 is not the hash of the body.");

  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical(request, signed, header, hash))].join("\n");
  const derived = [day, region, service, "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${key.secretAccessKey}`);
  if (!timingSafeEqual(hmac(derived, toSign), Buffer.from(form[3]!, "hex"))) {
    return refuse(
      "wrong signature",
      "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.",
    );
  }
  // After the signature, as a date that is not authentic says nothing.
  const [, year, month, dayOfMonth, hour, minute, second] = at.map(Number);
  const signedAt = Date.UTC(year!, month! - 1, dayOfMonth!, hour!, minute!, second!);
  if (Math.abs(now - signedAt) > SKEW_MS)
    return refuse(
      "skewed",
      `Signature ${signedAt < now ? "expired" : "not yet current"}: ${date} is not within 15 min. of the service's time.`,
    );
  if (key.expires !== undefined && key.expires <= now)
    return refuse("expired token", "The security token included in the request is expired");
  return { accessKeyId, region, service };
}

/** The canonical request: method, path, query, headers, their names, hash of the body. */
export function canonical(
  { method, target }: Pick<SignedRequest, "method" | "target">,
  signed: string[],
  header: (name: string) => string,
  hash: string,
) {
  const [path = "/", query = ""] = target.split(/\?(.*)/s);
  // All services but S3 encode each segment once more than it is on the wire.
  const segments = path.split("/").map(encode).join("/") || "/";
  const pairs = query
    .split("&")
    .filter(Boolean)
    .map((pair) => pair.split(/=(.*)/s))
    .map(([name = "", value = ""]) => [encode(decode(name)), encode(decode(value))] as const)
    .sort(([a, x], [b, y]) => order(a, b) || order(x, y));
  const headers = signed.map((name) => `${name}:${header(name).trim().replaceAll(/ +/g, " ")}\n`).join("");
  return [method, segments, pairs.map((pair) => pair.join("=")).join("&"), headers, signed.join(";"), hash].join("\n");
}

function order(a: string, b: string): number {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}
const decode = (text: string) => decodeURIComponent(text.replaceAll("+", "%20"));
/** RFC 3986: all but letters, digits and `-._~`. */
const encode = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
