import { readSources } from "./config.ts";

const VAULT = { type: "vault", address: "https://vault:8200", auth: { token: { file: "/t" } } };

test("every kind of source is read with all that it can be given", () => {
  const given = {
    "prod-vault": { ...VAULT, namespace: "team", kv: 2, caFile: "/ca" },
    pod: { ...VAULT, auth: { kubernetes: { role: "r", mount: "k8s/eu", tokenFile: "/jwt" } } },
    role: { ...VAULT, auth: { appRole: { roleId: "id", secretId: { env: "SECRET_ID" }, mount: "approle" } } },
    aws: {
      type: "aws-secrets-manager",
      region: "eu-central-1",
      roleArn: "arn:aws:iam::1:role/r",
      endpoint: "https://vpce",
      profile: "p",
    },
    kubernetes: { type: "kubernetes", kubeconfig: "/k", context: "c" },
  };
  const read = readSources(given);
  expect(read.kind === "done" && JSON.parse(JSON.stringify(Object.fromEntries(read.value.sources)))).toEqual(given);
  expect(readSources(undefined)).toEqual({ kind: "done", value: { sources: new Map(), scopes: new Map() } });
});

test.each<[unknown, string]>([
  [[], "sources: must be a mapping"],
  [{ env: VAULT }, "sources.env: this name is the delegate's own: only scopes or paths can be given for it"],
  [{ A_B: VAULT }, "sources.A_B: a name has lower-case letters, digits and - only, at most 63"],
  [{ a: 1 }, "sources.a: must be a mapping"],
  [{ a: { type: "gcp" } }, "sources.a.type: must be vault, aws-secrets-manager or kubernetes"],
  [{ a: { ...VAULT, kv: 3 } }, "sources.a.kv: must be 1 or 2"],
  [
    { a: { ...VAULT, adress: "x" } },
    "sources.a.adress: is not known; there are type, address, namespace, kv, caFile, auth",
  ],
  [
    { a: { ...VAULT, address: "vault:8200" } },
    "sources.a.address: must be http(s)://host[:port][/path], without a user",
  ],
  [
    { a: { ...VAULT, address: "https://user:pass@vault" } },
    "sources.a.address: must be http(s)://host[:port][/path], without a user",
  ],
  [{ a: { ...VAULT, auth: {} } }, "sources.a.auth: exactly one of token, kubernetes and appRole"],
  [
    { a: { ...VAULT, auth: { token: "hvs.x" } } },
    "sources.a.auth.token: the credential itself must not stand here; give {file: …} or {env: …}",
  ],
  [{ a: { ...VAULT, auth: { token: { file: "a", env: "b" } } } }, "sources.a.auth.token: exactly one of file and env"],
  [{ a: { ...VAULT, auth: { kubernetes: { role: 1 } } } }, "sources.a.auth.kubernetes.role: must be a text"],
  [
    { a: { ...VAULT, auth: { kubernetes: { role: "r", mount: "/x" } } } },
    "sources.a.auth.kubernetes.mount: a path without / at its ends",
  ],
  [{ a: { type: "aws-secrets-manager" } }, "sources.a.region: must be a text"],
  [{ a: { type: "kubernetes" } }, "sources.a.kubeconfig: must be a text"],
])("a mistake in the file is named by its place: %j", (given, message) => {
  expect(readSources(given)).toEqual({ kind: "stop", reason: "SettingInvalid", message });
  expect(message).not.toMatch(/hvs|pass@/);
});

test("scopes are read for a whole source, for its folders, and for the sources that every delegate has", () => {
  const read = readSources({
    vault: { ...VAULT, paths: { "kv/payments": { scopes: ["payments", "platform/prod"] } } },
    env: { scopes: ["*"] },
    file: { paths: { db: { scopes: ["payments"] } } },
    kubernetes: { scopes: [] },
  });
  if (read.kind !== "done") throw new Error(read.message);
  expect([...read.value.sources.keys()]).toEqual(["vault"]);
  expect(Object.fromEntries(read.value.scopes)).toEqual({
    vault: { paths: { "kv/payments": ["payments", "platform/prod"] } },
    env: { scopes: ["*"] },
    file: { paths: { db: ["payments"] } },
    kubernetes: { scopes: [] },
  });
});

const LIST = 'must be a list of at most 256 scopes: ORG, ORG/PROJECT, or "*" for all that the delegate serves';
test.each<[unknown, string]>([
  [{ env: { scopes: "payments" } }, `sources.env.scopes: ${LIST}`],
  [{ env: { scopes: ["a/b/c"] } }, `sources.env.scopes: ${LIST}`],
  [{ env: { scopes: [""] } }, `sources.env.scopes: ${LIST}`],
  [{ env: { scopes: ["pay*"] } }, `sources.env.scopes: ${LIST}`],
  [{ file: { paths: { db: {} } } }, `sources.file.paths.db.scopes: ${LIST}`],
  [{ file: { paths: { "/db": { scopes: ["a"] } } } }, "sources.file.paths./db: must be a path without / at its ends"],
  [{ file: { scopes: [], paths: {} } }, "sources.file: give `scopes` for all of it, or `paths` with scopes for each"],
])("a mistake in scopes is named by its place: %j", (given, message) => {
  expect(readSources(given)).toEqual({ kind: "stop", reason: "SettingInvalid", message });
});
