import { lookup } from "node:dns";
import { readFileSync } from "node:fs";
import type { LookupFunction } from "node:net";
import type { Io } from "../output/io.ts";

/** `localhost` and every name below it is this machine (RFC 6761), whether or not the system's resolver knows. */
export const localLookup: LookupFunction = (name, options, callback) => {
  const host = name.replace(/\.$/, "").toLowerCase();
  if (host !== "localhost" && !host.endsWith(".localhost")) return lookup(name, options, callback);
  if (options.all) callback(null, [{ address: "127.0.0.1", family: 4 }]);
  else callback(null, "127.0.0.1", 4);
};

/** A fetch that knows `*.localhost`, the proxy variables and a private authority (OUTPOST_CA_FILE). Loaded on first use: most starts are for help. */
export async function transport(io: Io): Promise<NonNullable<Io["fetch"]>> {
  if (io.fetch) return io.fetch;
  const { EnvHttpProxyAgent, fetch } = await import("./http.ts");
  const ca = io.env.OUTPOST_CA_FILE ? readFileSync(io.env.OUTPOST_CA_FILE, "utf8") : undefined;
  const dispatcher = new EnvHttpProxyAgent({
    connect: { lookup: localLookup, timeout: 10_000, ...(ca ? { ca } : {}) },
    ...(ca ? { requestTls: { ca } } : {}),
    noProxy: [io.env.NO_PROXY ?? io.env.no_proxy, "localhost,.localhost,127.0.0.1"].filter(Boolean).join(","),
  });
  return (url, init) => fetch(url, { ...(init as object), dispatcher }) as unknown as Promise<Response>;
}
