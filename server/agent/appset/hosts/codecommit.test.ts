import { type Aws, startAws } from "../../../../test/servers/aws.ts";
import { done, stop } from "../../../base/outcome.ts";
import { generate } from "../generate.ts";
import type { ApplicationSetSpec } from "../types.ts";
import type { World } from "../world/world.ts";

const ID = "AKIAAGENT";
const KEY = "a/secret+access/key+of/forty+characters01";
const ROLE = "arn:aws:iam::123456789012:role/reader";
const before = { ...process.env };
let aws: Aws;

beforeAll(async () => {
  aws = await startAws({
    users: { [ID]: { secretAccessKey: KEY, deny: ["codecommit:ListBranches"] } },
    roles: { [ROLE]: {} },
  });
  aws.codecommit.add(
    "shop",
    { main: ["deploy/app.yaml", "README.md"], "Fix/a": ["README.md"], old: [] },
    { team: "web", stage: "prod" },
  );
  aws.codecommit.add("empty", {}, { team: "web" });
  aws.codecommit.add("lib", { trunk: ["deploy/base/app.yaml"] }, { team: "api", stage: "prod" });
}, 60_000);
beforeEach(() => {
  aws.requests.length = aws.refused.length = 0;
  process.env = {
    ...before,
    AWS_REGION: "eu-central-1",
    AWS_ENDPOINT_URL: aws.url,
    AWS_ACCESS_KEY_ID: ID,
    AWS_SECRET_ACCESS_KEY: KEY,
  };
});
afterAll(async () => {
  process.env = before;
  await aws.stop();
});

const none = async () => stop("Nothing", "not here");
const worldWith = (allowedProviders?: string[]): World => ({
  clusters: () => [],
  directories: none,
  files: none,
  secret: none,
  githubApp: none,
  configMap: async () => done({}),
  objects: none,
  allowedProviders,
});
const TEXT =
  "{{.organization}}/{{.repository}}@{{.branch}} {{.branchNormalized}} [{{.sha}}{{.short_sha}}{{.labels}}] {{.url}}";

async function ask(
  settings: object,
  rest: object = {},
  text = "{{.repository}}@{{.branch}}",
  world = worldWith(),
): Promise<string[] | string> {
  const spec: ApplicationSetSpec = {
    goTemplate: true,
    goTemplateOptions: ["missingkey=error"],
    generators: [{ scmProvider: { awsCodeCommit: settings, ...rest } }],
    template: { metadata: { name: "n", annotations: { text } }, spec: {} },
  };
  const made = await generate("set", spec, world);
  return made.kind === "done" ? made.value.map(({ metadata }) => metadata.annotations!.text!) : made.message;
}

test("repositories give their parameters as Argo CD's do, over pages; each question is signed", async () => {
  const at = (name: string) => `git-codecommit.eu-central-1.amazonaws.com/v1/repos/${name}`;
  expect(await ask({}, {}, TEXT)).toEqual([
    `123456789012/shop@main main [] ssh://${at("shop")}`,
    `123456789012/lib@trunk trunk [] ssh://${at("lib")}`,
  ]);
  expect(aws.refused).toEqual([]);
  expect(aws.requests.map(({ action }) => action)).toContain("codecommit:ListRepositories");
  expect((await ask({}, { cloneProtocol: "https" }, "{{.url}}"))[0]).toBe(`https://${at("shop")}`);
  expect((await ask({}, { cloneProtocol: "https-fips" }, "{{.url}}"))[0]).toBe(
    "https://git-codecommit-fips.eu-central-1.amazonaws.com/v1/repos/shop",
  );
  expect(await ask({}, { cloneProtocol: "ftp" })).toMatch(/unknown clone protocol/);
});

test("a role is assumed once, and asks for all branches", async () => {
  const all = await ask({ role: ROLE, region: "eu-central-1", allBranches: true }, { filters: [{ branchMatch: "." }] });
  expect(all).toEqual(["shop@main", "shop@Fix/a", "shop@old", "lib@trunk"]);
  expect(aws.requests.filter(({ action }) => action === "sts:AssumeRole")).toHaveLength(1);
  expect(new Set(aws.requests.slice(1).map(({ arn }) => arn))).toEqual(
    new Set(["arn:aws:sts::123456789012:assumed-role/reader/outpost-agent"]),
  );
});

test.each<[{ key: string; value?: string }[], string[]]>([
  [[{ key: "team", value: "web" }], ["shop"]],
  [
    [
      { key: "team", value: "web" },
      { key: "team", value: "api" },
    ],
    ["shop", "lib"],
  ],
  [[{ key: "stage" }, { key: "team", value: "api" }], ["lib"]],
  [[{ key: "nothing" }], []],
])("with the tags %j they are %j", async (tagFilters, want) => {
  expect(await ask({ tagFilters }, {}, "{{.repository}}")).toEqual(want);
  expect(aws.requests.map(({ action }) => action)).not.toContain("codecommit:ListRepositories");
});

test.each<[object[], string[]]>([
  [[{ pathsExist: ["deploy/app.yaml"] }], ["shop@main"]],
  [[{ pathsExist: ["/deploy/"] }], ["shop@main", "lib@trunk"]],
  [[{ pathsExist: ["none/app.yaml"] }], []],
  [[{ pathsDoNotExist: ["deploy/base"] }], ["shop@main"]],
  [[{ repositoryMatch: "^l" }], ["lib@trunk"]],
])("with the filters %j they are %j", async (filters, want) => {
  expect(await ask({}, { filters })).toEqual(want);
});

test("what AWS refuses is told by its name, and no key is", async () => {
  expect(await ask({ allBranches: true })).toMatch(/answered 400 \(AccessDeniedException\)/);
  process.env.AWS_SECRET_ACCESS_KEY = "canary";
  const said = await ask({});
  expect(said).toMatch(/\(InvalidSignatureException\)/);
  expect(said).not.toMatch(/canary|AKIA/);
  expect(await ask({ role: `${ROLE}-x` })).toMatch(/AWS gives no credentials/);
  delete process.env.AWS_ACCESS_KEY_ID;
  expect(await ask({})).toMatch(/the agent has no credentials/);
});

test.each<[string, object, RegExp]>([
  ["a region that is a host", { region: "x.evil.example/" }, /not a region of AWS/],
  ["a role that is none", { role: "reader" }, /not an ARN of a role/],
])("%s is refused before anything is asked", async (_, settings, why) => {
  delete process.env.AWS_ENDPOINT_URL;
  expect(await ask(settings)).toMatch(why);
  expect(aws.requests).toEqual([]);
});

test("a set cannot say where the agent's identity goes, and only asks what may be asked", async () => {
  expect(await ask({ api: "http://127.0.0.1:9" })).toEqual(["shop@main", "lib@trunk"]);
  expect(await ask({}, {}, "x", worldWith(["https://api.github.com"]))).toMatch(/scm provider not allowed/);
});
