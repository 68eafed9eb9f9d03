import { isLoopbackHost, plainHttpWarning } from "./plain-http.ts";

test.each([
  ["localhost", true],
  ["outpost.localhost", true],
  ["127.0.0.1", true],
  ["127.8.8.8", true],
  ["[::1]", true],
  ["10.0.0.1", false],
  ["localhost.example.com", false],
  ["127.0.0.1.example.com", false],
  ["127.example.com", false],
  ["", false],
])("%s means this machine: %s", (host, want) => expect(isLoopbackHost(host)).toBe(want));

test.each<[endpoint: string, env: NodeJS.ProcessEnv, warned: boolean]>([
  ["https://outpost.example.com", {}, false],
  ["http://127.0.0.1:8080", {}, false],
  ["http://[::1]:8080", {}, false],
  ["http://outpost.example.com/x", {}, true],
  ["http://10.0.0.1:8080", {}, true],
  ["http://outpost.outpost.svc:8080", { OUTPOST_ALLOW_HTTP: "true" }, false],
  ["http://outpost.outpost.svc:8080", { OUTPOST_ALLOW_HTTP: "yes" }, true],
])("%s with %j is warned of: %s", (endpoint, env, warned) => {
  const text = plainHttpWarning(endpoint, env);
  expect(text !== undefined).toBe(warned);
  if (warned) expect(text).toMatch(/OUTPOST_ALLOW_HTTP=true/);
});
