import { readFileSync } from "node:fs";
import { done, type Outcome, stop } from "../base/outcome.ts";

/** The service's address: OUTPOST_ENDPOINT, or MANAGER_HOST_AND_PORT as users of other delegates know it. */
export function endpointOf(env: NodeJS.ProcessEnv): Outcome<string> {
  const text = env.OUTPOST_ENDPOINT || env.MANAGER_HOST_AND_PORT;
  if (!text)
    return stop(
      "EndpointMissing",
      "OUTPOST_ENDPOINT is not set: give the address of the service, such as https://outpost.example.com",
    );
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
  if (!url || !/^https?:$/.test(url.protocol) || url.username)
    return stop(
      "EndpointInvalid",
      `OUTPOST_ENDPOINT "${text.replace(/\/\/[^@/]*@/, "//")}" is not an http:// or https:// address without credentials`,
    );
  return done(url.href.replace(/\/+$/, ""));
}

/** The enrolment token, read again each time: a mounted file may be replaced. */
export function tokenOf(env: NodeJS.ProcessEnv): () => string | undefined {
  return () => {
    const file = env.OUTPOST_TOKEN_FILE;
    if (file) {
      try {
        return readFileSync(file, "utf8").trim() || undefined;
      } catch {
        return undefined;
      }
    }
    return env.OUTPOST_TOKEN || env.DELEGATE_TOKEN || undefined;
  };
}

/** Only what the link's own thread needs; never the token. */
export function networkEnv(env: NodeJS.ProcessEnv): Record<string, string | undefined> {
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"];
  return Object.fromEntries(
    ["OUTPOST_CA_FILE", ...names, ...names.map((name) => name.toLowerCase())]
      .filter((name) => env[name])
      .map((name) => [name, env[name]]),
  );
}
