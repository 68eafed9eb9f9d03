import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

/** The first part of X-Amz-Target. */
const TARGETS: Record<string, string> = {
  AmazonEC2ContainerServiceV20141113: "ecs",
  AmazonEC2ContainerRegistry_V20150921: "ecr",
  secretsmanager: "secretsmanager",
  CodeCommit_20150413: "codecommit",
  ResourceGroupsTaggingAPI_20170126: "tagging",
};

/** What a request asks for. */
export interface Call {
  service: string;
  operation: string;
  // biome-ignore lint/suspicious/noExplicitAny: as it came.
  input: Record<string, any>;
  /** The query protocol: a form in, XML out. */
  query: boolean;
}

/** By the header X-Amz-Target, or by the form's field Action. */
export function parse(request: IncomingMessage, body: Buffer): Call {
  const [target, operation = ""] = `${request.headers["x-amz-target"] ?? ""}`.split(".");
  if (target) {
    let input = {};
    try {
      input = JSON.parse(body.toString() || "{}");
    } catch {
      // The operation will miss what it needs.
    }
    return { service: TARGETS[target] ?? target, operation, input, query: false };
  }
  // An address that is signed in advance says all in its query.
  const form = request.method === "GET" ? (request.url ?? "").split(/\?(.*)/s)[1] : body.toString();
  const { Action = "", ...input } = Object.fromEntries(new URLSearchParams(form));
  return { service: "sts", operation: Action, input, query: true };
}

/** A result, or `{ __type, message }` with a status that is not 200. */
export function answer(
  response: ServerResponse,
  { operation, query }: Call,
  status: number,
  result: Record<string, unknown>,
): void {
  const id = randomUUID();
  const xml = (namespace: string, root: string, inner: string) => `<${root} xmlns="${namespace}">${inner}</${root}>`;
  const sts = "https://sts.amazonaws.com/doc/2011-06-15/";
  const good = () =>
    `${element(`${operation}Result`, result)}<ResponseMetadata><RequestId>${id}</RequestId></ResponseMetadata>`;
  const bad = () =>
    `${element("Error", { Type: "Sender", Code: result.__type, Message: result.message })}<RequestId>${id}</RequestId>`;
  const answer = () => (status === 200 ? xml(sts, `${operation}Response`, good()) : xml(sts, "ErrorResponse", bad()));
  const text = query ? answer() : JSON.stringify(result);
  response.writeHead(status, {
    "content-type": query ? "text/xml" : "application/x-amz-json-1.1",
    "x-amzn-requestid": id,
  });
  response.end(text);
}

function element(name: string, value: unknown): string {
  const inner =
    typeof value === "object" && value !== null
      ? Object.entries(value)
          .map(([key, part]) => element(key, part))
          .join("")
      : String(value).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<${name}>${inner}</${name}>`;
}
