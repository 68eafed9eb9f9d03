import { plainHttpWarning } from "./plain-http.ts";

test.each([
  ["http://outpost.example.com", {}, true],
  ["http://10.0.0.7:8080/api", {}, true],
  ["http://127.0.0.1.example.com", {}, true],
  ["https://outpost.example.com", {}, false],
  ["http://127.0.0.1:8080", {}, false],
  ["http://[::1]:8080", {}, false],
  ["http://localhost:8080", {}, false],
  ["http://outpost.localhost", {}, false],
  ["http://outpost.example.com", { OUTPOST_ALLOW_HTTP: "true" }, false],
  ["no address", {}, false],
])("plain HTTP to %s with %j is warned of: %s", (endpoint, env, warned) => {
  expect(plainHttpWarning(endpoint, env) !== undefined).toBe(warned);
});
