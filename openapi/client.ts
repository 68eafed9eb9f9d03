import createFetch, { type Client } from "openapi-fetch";
import type { components, paths } from "./contract/types.ts";

export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];
export type OutpostClient = Client<paths>;

export interface ClientOptions {
  endpoint: string;
  /** API key of a person or service account. */
  apiKey?: string;
  fetch?: (request: Request) => Promise<Response>;
  userAgent?: string;
}

/** The typed client of every operation in the contract. It never throws on an HTTP status: look at `error`, a Problem. */
export function createOutpostClient(options: ClientOptions): OutpostClient {
  const headers: Record<string, string> = { "user-agent": options.userAgent ?? "outpost" };
  if (options.apiKey) headers.authorization = `Bearer ${options.apiKey}`;
  return createFetch<paths>({
    baseUrl: options.endpoint.replace(/\/$/, ""),
    headers,
    ...(options.fetch ? { fetch: options.fetch } : {}),
  });
}

/** Items of a list as whole objects: what it has without `view=summary`. */
export const whole = <Items extends readonly object[]>(items: Items): Extract<Items[number], { spec: unknown }>[] =>
  items.filter((item): item is Extract<Items[number], { spec: unknown }> => "spec" in item);
