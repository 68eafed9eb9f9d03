import { agentKeys } from "../../../base/cloud/aws-agent.ts";
import { awsSigned } from "../../../base/cloud/aws-sign.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { APPSET, type Free } from "../types.ts";
import { type Ask, ask as askOne, HTTP, MAX_PAGES } from "../world/http.ts";
import type { Branch, Browse, Provider, Repository } from "../world/scm.ts";
import { AGENT_IDENTITY } from "./sign-in.ts";

const REGION = /^[a-z]{2}[a-z0-9-]{2,30}$/;
const ROLE = /^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/;
const PLAIN_HTTPS = "https://git-codecommit.";
const FIPS_HTTPS = "https://git-codecommit-fips.";
const ABSENT = /^(RepositoryDoesNotExist|CommitDoesNotExist|FolderDoesNotExist)Exception$/;

const regionOf = ({ region }: Free, env = process.env): string =>
  String(region || env.AWS_REGION || env.AWS_DEFAULT_REGION || "");
const at = (service: string, region: string) =>
  `https://${service}.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;

/** AWS names an error by its class. */
const code = (said: string): string | undefined => /"__type"\s*:\s*"(?:[^"#]*#)?([A-Za-z]{1,100})"/.exec(said)?.[1];

/** CodeCommit, asked by the agent's own identity in AWS or by a role that it may assume; there are no pull requests in it for Argo CD. */
export const codeCommit: Browse = {
  async repositories(settings, ask) {
    const names = await namesOf(settings, ask);
    if (names.kind !== "done") return names;
    const all: Repository[] = [];
    for (const repositoryName of names.value) {
      const got = await call(settings, ask, "GetRepository", { repositoryName });
      if (got.kind !== "done") return got;
      const { repositoryMetadata: found } = got.value;
      // Without a default branch there is nothing in it.
      if (!found?.defaultBranch) continue;
      const https = String(found.cloneUrlHttp ?? "");
      all.push({
        organization: found.accountId ?? "",
        repository: found.repositoryName,
        id: found.repositoryId ?? "",
        url: {
          ssh: found.cloneUrlSsh ?? "",
          https,
          "https-fips": fipsOf(https),
        },
        defaultBranch: found.defaultBranch,
        labels: [],
      });
    }
    return done(all);
  },

  // Commits are not listed, as in Argo CD: each would take another request.
  async branches(settings, { repository, defaultBranch }, all, ask): Promise<Outcome<Branch[]>> {
    if (!all) return done([{ name: defaultBranch, sha: "" }]);
    const branches = await pages(
      settings,
      ask,
      "ListBranches",
      { repositoryName: repository },
      ({ branches }) => branches,
    );
    return branches.kind === "done" ? done(branches.value.map((name: string) => ({ name, sha: "" }))) : branches;
  },

  async hasPath(settings, { repository: { repository }, branch: { name }, path }, ask) {
    const parts = path.split("/").filter(Boolean);
    if (parts.length === 0) return done(true);
    const folder = {
      repositoryName: repository,
      commitSpecifier: name,
      folderPath: `/${parts.slice(0, -1).join("/")}`,
    };
    const got = await call(settings, { ...ask, missing: ABSENT }, "GetFolder", folder);
    if (got.kind !== "done") return got.reason === HTTP.notFound ? done(false) : got;
    const { subModules = [], subFolders = [], files = [], symbolicLinks = [] } = got.value;
    return done(
      [...subModules, ...subFolders, ...files, ...symbolicLinks].some((one: Free) => one.relativePath === parts.at(-1)),
    );
  },
};

/** All repositories of the account, or those that have tags: any of a key's values, and all keys. */
async function namesOf(settings: Free, ask: Ask): Promise<Outcome<string[]>> {
  const tagFilters = (settings.tagFilters ?? []) as { key: string; value?: string }[];
  if (tagFilters.length === 0)
    return pages(settings, ask, "ListRepositories", {}, ({ repositories }) => nameAll(repositories));
  const keys = [...new Set(tagFilters.map(({ key }) => key))];
  const TagFilters = keys.map((Key) => {
    const Values = tagFilters.flatMap(({ key, value }) => (key === Key && value ? [value] : []));
    return Values.length ? { Key, Values } : { Key };
  });
  const wanted = { ResourceTypeFilters: ["codecommit:repository"], TagFilters };
  return pages(settings, ask, "GetResources", wanted, ({ ResourceTagMappingList }) => arnsOf(ResourceTagMappingList));
}

const nameAll = (repositories?: Free[]) => repositories?.map(({ repositoryName }) => String(repositoryName));
// arn:aws:codecommit:REGION:ACCOUNT:NAME
const arnsOf = (found?: Free[]) => found?.flatMap(({ ResourceARN }) => String(ResourceARN).split(":")[5] || []);

async function pages(
  settings: Free,
  ask: Ask,
  operation: string,
  input: Free,
  read: (output: Free) => string[] | undefined,
): Promise<Outcome<string[]>> {
  const token = operation === "GetResources" ? "PaginationToken" : "nextToken";
  const all: string[] = [];
  let next: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const got = await call(settings, ask, operation, next ? { ...input, [token]: next } : input);
    if (got.kind !== "done") return got;
    const items = read(got.value);
    if (!Array.isArray(items)) return stop(HTTP.refused, `${operation} of AWS did not answer with a list`);
    all.push(...items);
    next = got.value[token];
    if (!next) return done(all);
  }
  return stop(HTTP.tooLarge, `${operation} of AWS has more than ${MAX_PAGES} pages`);
}

async function call(settings: Free, ask: Ask, operation: string, body: Free): Promise<Outcome<Free>> {
  const tagging = operation === "GetResources";
  const target = tagging ? "ResourceGroupsTaggingAPI_20170126" : "CodeCommit_20150413";
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": `${target}.${operation}` };
  const url = tagging ? taggingAt(settings) : settings.api;
  const answer = await askOne<Free>(`${String(url).replace(/(?<!\/)\/+$/, "")}/`, {
    ...ask,
    method: "POST",
    headers,
    body,
    code,
  });
  return answer.kind === "done" ? done(answer.value.body ?? {}) : answer;
}

const taggingAt = (settings: Free, env = process.env): string =>
  env.AWS_ENDPOINT_URL_RESOURCE_GROUPS_TAGGING_API || env.AWS_ENDPOINT_URL || at("tagging", regionOf(settings));

/** Where AWS has it, or where the agent's operator says; never where a set says, as the agent's own identity goes there. */
export const codeCommitProvider: Provider<Browse> = {
  host: codeCommit,
  api: async (settings) => {
    const { AWS_ENDPOINT_URL_CODECOMMIT, AWS_ENDPOINT_URL } = process.env;
    const region = regionOf(settings);
    if (!REGION.test(region))
      return stop(
        APPSET.params,
        "awsCodeCommit.region is not a region of AWS; without one AWS_REGION of the agent is taken",
      );
    return done(AWS_ENDPOINT_URL_CODECOMMIT || AWS_ENDPOINT_URL || at("codecommit", region));
  },
  signIn: async (settings, { world }) => {
    if (world.tenant !== undefined) return stop(APPSET.params, AGENT_IDENTITY);
    const [region, role] = [regionOf(settings), settings.role];
    if (role && !ROLE.test(role)) return stop(APPSET.params, "awsCodeCommit.role is not an ARN of a role");
    const keys = await agentKeys({ env: process.env, region, roleArn: role || undefined }, APPSET.params);
    if (keys.kind !== "done") return keys;
    return done({
      identity: true,
      sign: (url, sent, body) => {
        const { "content-type": type = "", "x-amz-target": target = "" } = sent;
        const service = target.startsWith("CodeCommit") ? "codecommit" : "tagging";
        const headers = { "content-type": type, "x-amz-target": target };
        return awsSigned(keys.value, { service, region, url }, { headers, body });
      },
    });
  },
};

function fipsOf(https: string): string | undefined {
  const fips = https.startsWith(PLAIN_HTTPS) ? https.replace(PLAIN_HTTPS, FIPS_HTTPS) : https;
  return fips.startsWith(FIPS_HTTPS) ? fips : undefined;
}
