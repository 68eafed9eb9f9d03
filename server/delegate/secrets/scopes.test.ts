import { Redactor } from "../../base/crypto/redact.ts";
import { done } from "../../base/outcome.ts";
import { parseReferences, type SecretReference } from "../../base/reference.ts";
import { readSources } from "./config.ts";
import { type Scope, SecretScopes, type SourceScopes } from "./scopes.ts";
import { Secrets } from "./secrets.ts";

const account: Scope = { account: "a" };
const org: Scope = { account: "a", org: "payments" };
const project: Scope = { account: "a", org: "payments", project: "prod" };
const other: Scope = { account: "a", org: "shop", project: "prod" };

function reference(text: string): SecretReference {
  const read = parseReferences(`\${secret:${text}}`);
  if (read.kind !== "done") throw new Error(read.message);
  return read.value[0] as SecretReference;
}

const LISTED: [string, SourceScopes][] = [
  ["env", { scopes: ["*"] }],
  ["vault", { scopes: ["payments"] }],
  ["exact", { scopes: ["payments/prod"] }],
  ["file", { paths: { db: ["shop"], "db/prod": ["payments/prod"], all: ["*"], "all/closed": [] } }],
];

// delegate's scope | task's scope | reference | allowed
test.each<[Scope | undefined, Scope | undefined, string, boolean]>([
  [account, account, "nothing/listed", true],
  [account, account, "file/db/prod/key", true],
  [org, org, "nothing/listed", true],
  [project, project, "nothing/listed", true],
  [account, org, "nothing/listed", false],
  [account, project, "nothing/listed", false],
  [org, project, "nothing/listed", false],
  [account, project, "env/ANY", true],
  [account, org, "vault/kv/x#k", true],
  [account, project, "vault/kv/x#k", true],
  [account, other, "vault/kv/x#k", false],
  [account, org, "exact/kv/x#k", false],
  [account, project, "exact/kv/x#k", true],
  [account, project, "file/db/prod/key", true],
  [account, project, "file/db/other", false],
  [account, other, "file/db/other", true],
  [account, other, "file/db/prod/key", false],
  [account, project, "file/all/x", true],
  [account, project, "file/all/closed/x", false],
  // Another spelling of a path matches no entry.
  [account, project, "file/dbx/key", false],
  [account, project, "file//all/x", false],
  [account, project, "file/./all/x", false],
  [account, project, "kubernetes/payments#key", false],
  // A task that is not below its delegate, or of which that is not known, gets nothing, not even what is open to all.
  [org, other, "env/ANY", false],
  [org, account, "env/ANY", false],
  [account, { account: "b" }, "env/ANY", false],
  [undefined, project, "env/ANY", false],
  [account, undefined, "env/ANY", false],
])("a delegate of %j and a task of %j: %s is allowed: %s", (own, scope, text, allowed) => {
  const refused = new SecretScopes(new Map(LISTED), own).refuses(reference(text), scope);
  expect(refused === undefined).toBe(allowed);
  if (refused)
    expect(refused).toMatchObject({
      kind: "stop",
      reason: "SecretScopeRefused",
      message: expect.stringMatching(/^the secret is not for this task: /),
    });
});

test("a refusal says what the operator can do, and the secret is not even asked for", async () => {
  const scopes = new SecretScopes(new Map(), account);
  let asked = 0;
  const source = {
    read: async () => {
      asked++;
      return done("a-value-that-is-secret");
    },
  };
  const secrets = new Secrets(new Map([["file", source]]));
  const outcome = await secrets.resolve({
    params: { headers: { authorization: "${secret:file/db/password}" } },
    refuses: (one) => scopes.refuses(one, project),
    redactor: new Redactor(),
    signal: new AbortController().signal,
  });
  expect([asked, outcome]).toEqual([
    0,
    {
      kind: "stop",
      reason: "SecretScopeRefused",
      message:
        "/params/headers/authorization: ${secret:file/db/password}: the secret is not for this task: this delegate belongs to the account and the task to the project payments/prod; its operator allows it in the delegate's configuration file: sources.file.paths.db.scopes: [payments/prod]",
    },
  ]);
});

test("a namespace that is listed does not open the Secret of that name in the delegate's own namespace", () => {
  const read = readSources({
    kubernetes: { paths: { "team-a": { scopes: ["shop"] }, "team-b/db": { scopes: ["shop"] } } },
    far: { type: "kubernetes", kubeconfig: "/etc/kubeconfig", paths: { "team-a": { scopes: ["shop"] } } },
  });
  if (read.kind !== "done") throw new Error(read.message);
  const scopes = new SecretScopes(read.value.scopes, account);
  const allowed = (text: string) => scopes.refuses(reference(text), other) === undefined;
  for (const source of ["kubernetes", "far"])
    expect([`${source}/team-a/db#key`, `${source}/team-a#key`, `${source}/team-ab/db#key`].map(allowed)).toEqual([
      true,
      false,
      false,
    ]);
  expect(["kubernetes/team-b/db#key", "kubernetes/team-b#key"].map(allowed)).toEqual([true, false]);
});
