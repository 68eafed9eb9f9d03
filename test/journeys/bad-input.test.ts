import { removeFolder, settled, type World, world } from "../world.ts";

/** The list of bad input, each by its own name: in Terraform's error with its attribute, in the API, in `outpost app get`. */
let w: World;
let agent: string;
let home: string;
beforeAll(async () => {
  w = await world();
  agent = (await w.application("guestbook")).spec.agent;
  home = (await w.repository.tip("refs/heads/main"))!;
  const files = {
    "bad/yaml/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: [unfinished\n",
    "bad/chart/Chart.yaml": "apiVersion: v2\nname: bad\nversion: 1.0.0\n",
    "bad/chart/templates/a.yaml": '{{ fail "this chart does not render" }}\n',
    "bad/kind/a.yaml": "apiVersion: example.com/v1\nkind: Unheard\nmetadata:\n  name: of\n",
    "bad/namespace/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: lost\n  namespace: nowhere-at-all\n",
    "bad/claimed/a.yaml":
      (await w.repository.git("show", "refs/heads/main:guestbook/service.yaml").catch(() => "")) ||
      "apiVersion: v1\nkind: Service\nmetadata:\n  name: guestbook\n",
  };
  await w.repository.commit(files, "Bad input", { branch: "bad" });
});
afterAll(async () => {
  await w.repository.deleteBranch("bad");
  expect(await w.repository.tip("refs/heads/main")).toBe(home);
  await w.waitApplication("guestbook", "guestbook settled", settled);
});

const source = (path: string, more = "") =>
  `source = { repository = "code", path = "${path}", target_revision = "bad"${more} }`;
const application = (more: string, id = "bad", name = "bad") => `resource "outpost_application" "${name}" {
  id          = "${id}"
  agent       = "AGENT"
  destination = { namespace = "guestbook" }
  sync_policy = { automated = {} }
  timeouts    = { create = "60s" }
  ${more}
}`;

/** What is only known once the world is up. */
const filled = (hcl: string) =>
  hcl.replaceAll("AGENT", agent).replaceAll("REPO", w.repositoryUrl.replace(/\/guestbook\.git$/, ""));

/** Terraform's error without its frame and line breaks. */
const flat = (output: string) => output.replace(/[│╷╵]/g, " ").replace(/\s+/g, " ");

// What the plan or the service refuses: nothing is made.
test.each<[string, string, string, string]>([
  [
    "an unknown field",
    application('source = { repository = "code", path = "guestbook" }\n  brnach = "main"'),
    "unsupported|Unsupported|unexpected attribute|An argument named",
    "brnach",
  ],
  [
    "a mistyped field",
    application('source = { repository = "code", path = "guestbook" }\n  revision_history_limit = "many"'),
    "number is required|Incorrect attribute value type|a number",
    "revision_history_limit",
  ],
  [
    "an id that is not a label",
    application('source = { repository = "code", path = "guestbook" }', "Not_A_Label"),
    "lower-case|label|pattern|Invalid",
    "id",
  ],
  [
    "a reference to a missing object",
    application('source = { repository = "not-there", path = "guestbook" }'),
    "reference_not_found",
    "repository",
  ],
  [
    "a reference to another scope",
    application('source = { repository = "org.code", path = "guestbook" }'),
    "reference_not_found",
    "repository",
  ],
  [
    "two sources at once",
    application('source = { repository = "code", repo_url = "https://a.test/b.git", path = "guestbook" }'),
    "exactly one",
    "repo_url",
  ],
  [
    "a path out of the repository",
    application('source = { repository = "code", path = "../etc" }'),
    "pattern|\\.\\.|relative|Invalid",
    "path",
  ],
])("%s is refused at its attribute", async (_, hcl, message, attribute) => {
  const dir = await w.configuration("refused", filled(hcl));
  const ran = await w.terraform(dir, "apply", "-auto-approve");
  removeFolder(dir);
  expect(ran.code).toBe(1);
  expect(flat(ran.output)).toMatch(new RegExp(message));
  expect(ran.output).toContain(attribute);
  expect((await w.cli("app", "get", "bad")).exit).toBe(3);
});

// What only shows in the agent: the object stays, with a condition that has a name; nothing that is live is touched. All at once, because
// Terraform waits for each of them until its time is over.
const conditions: [string, string, string][] = [
  ["a path that is not in the repository", source("bad/nothing-here"), "PathNotFound"],
  ["YAML that does not parse", source("bad/yaml"), "ManifestInvalid"],
  ["a chart that does not render", source("bad/chart"), "ChartRenderFailed"],
  [
    "a branch that is not there",
    'source = { repository = "code", path = "guestbook", target_revision = "no-such-branch" }',
    "RevisionNotFound",
  ],
  ["a repository that is not there", `source = { repo_url = "REPO/nothing.git", path = "a" }`, "RepositoryNotFound"],
  ["a kind that the cluster does not have", source("bad/kind"), "KindNotFound"],
  ["a namespace that is missing", source("bad/namespace"), "NamespaceNotFound"],
  ["two applications that claim one object", source("bad/claimed"), "SharedResource"],
];
describe("told by name in Terraform, the API and the command line:", () => {
  const live = () =>
    w.cluster.kubectl("-n", "guestbook", "get", "deployment,service", "-o", "jsonpath={.items[*].metadata.uid}");
  let before: string;
  let dir: string;
  let errors: string[];
  beforeAll(async () => {
    before = await live();
    dir = await w.configuration(
      "condition",
      filled(conditions.map(([, more], i) => application(more, `bad-${i}`, `bad_${i}`)).join("\n")),
    );
    const ran = await w.terraform(dir, "apply", "-auto-approve");
    expect(ran.code).toBe(1);
    errors = ran.output.split("Error: ");
  });
  afterAll(async () => {
    const destroyed = await w.terraform(dir, "destroy", "-auto-approve");
    if (destroyed.code === 0) removeFolder(dir);
    for (const i of conditions.keys())
      await w.cli("app", "delete", `bad-${i}`, "--cascade", "orphan", "--timeout", "30s");
    expect(await live()).toBe(before);
  });

  test.each(conditions.map(([name, , reason], i) => ({ name, reason, i })))("$name", async ({ reason, i }) => {
    const mine = errors.filter((text) => flat(text).includes(`with outpost_application.bad_${i},`));
    expect(mine.map(flat).join("\n")).toContain(reason);
    const object = await w.application(`bad-${i}`);
    expect((object.status.conditions ?? []).map((c) => c.reason)).toContain(reason);
    expect((await w.cli("app", "get", `bad-${i}`)).out).toContain(reason);
  });
});

test("a wrong If-Match, an oversized body and a used token have their own codes and exits", async () => {
  const stale = await w.cli("app", "patch", "guestbook", "--if-match", "1", "--labels", "a=b");
  expect([stale.exit, stale.err]).toEqual([4, expect.stringContaining("version_mismatch")]);
  const large = await fetch(`http://127.0.0.1:${new URL(w.address).port}/v1/applications/large`, {
    method: "PUT",
    headers: { authorization: `Bearer ${w.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ spec: { agent, destination: {}, source: { helm: { values: "x".repeat(8 << 20) } } } }),
  });
  expect([large.status, (await large.json()) as object]).toEqual([
    413,
    expect.objectContaining({ code: "body_too_large" }),
  ]);
  const text = await fetch(`http://127.0.0.1:${new URL(w.address).port}/v1/applications/large`, {
    method: "PUT",
    headers: { authorization: `Bearer ${w.apiKey}`, "content-type": "application/json" },
    body: "{",
  });
  expect([text.status, (await text.json()) as object]).toEqual([
    400,
    expect.objectContaining({ code: "invalid_json" }),
  ]);
  const nobody = await fetch(`http://127.0.0.1:${new URL(w.address).port}/v1/applications`, {
    headers: { authorization: "Bearer opk_default_wrong" },
  });
  expect([nobody.status, (await nobody.json()) as object]).toEqual([
    401,
    expect.objectContaining({ code: "unauthenticated" }),
  ]);
});
