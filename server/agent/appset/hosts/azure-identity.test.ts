import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clouds, startClouds } from "../../../../test/servers/clouds.ts";
import { stop } from "../../../base/outcome.ts";
import { generate } from "../generate.ts";
import type { ApplicationSetSpec } from "../types.ts";
import type { World } from "../world/world.ts";

const folder = mkdtempSync(join(tmpdir(), "azure-identity-"));
const before = { ...process.env };
let clouds: Clouds;
let devops: Server;
let api: string;
const seen: string[] = [];

beforeAll(async () => {
  clouds = await startClouds();
  devops = createServer((request, response) => {
    seen.push(request.headers.authorization ?? "");
    const known = clouds.tokens.some(
      ({ what, token }) => what.startsWith("azure ") && request.headers.authorization === `Bearer ${token}`,
    );
    const pull = {
      pullRequestId: 7,
      repository: { name: "shop" },
      title: "T",
      lastMergeSourceCommit: { commitId: "a".repeat(40) },
    };
    response
      .writeHead(known ? 200 : 401, { "content-type": "application/json" })
      .end(JSON.stringify({ count: 1, value: [pull] }));
  });
  await new Promise<void>((resolve) => devops.listen(0, "127.0.0.1", resolve));
  api = `http://127.0.0.1:${(devops.address() as AddressInfo).port}`;
});
beforeEach(() => {
  seen.length = 0;
  const file = join(folder, "token");
  writeFileSync(file, clouds.federated);
  process.env.AZURE_FEDERATED_TOKEN_FILE = file;
  process.env.AZURE_TENANT_ID = clouds.tenant;
  process.env.AZURE_CLIENT_ID = clouds.client;
  process.env.AZURE_AUTHORITY_HOST = clouds.url;
  process.env.OUTPOST_CLOUD_ORIGINS = `${clouds.url},${api}`;
});
afterAll(async () => {
  process.env = before;
  devops.closeAllConnections();
  devops.close();
  await clouds.stop();
  rmSync(folder, { recursive: true, force: true });
});

const none = async () => stop("Nothing", "not here");
const world: World = {
  clusters: () => [],
  directories: none,
  files: none,
  secret: none,
  githubApp: none,
  configMap: none,
  objects: none,
};
async function pulls(more: object = {}): Promise<string[] | string> {
  const azuredevops = { organization: "org", project: "team", repo: "shop", api, useWorkloadIdentity: true, ...more };
  const spec: ApplicationSetSpec = {
    goTemplate: true,
    generators: [{ pullRequest: { azuredevops } }],
    template: { metadata: { name: "pr-{{.number}}" }, spec: {} },
  };
  const made = await generate("set", spec, world);
  return made.kind === "done" ? made.value.map(({ metadata }) => metadata.name) : made.message;
}

test("Azure DevOps is asked as the identity that the agent's Pod has in Azure", async () => {
  expect(await pulls()).toEqual(["pr-7"]);
});

test.each<[string, object, string | undefined, RegExp]>([
  ["to a host that is not Azure's", {}, "OUTPOST_CLOUD_ORIGINS", /is not Azure's/],
  ["to a server that nobody checks", { insecure: true }, undefined, /to no unchecked server/],
  ["by an agent that has none", {}, "AZURE_FEDERATED_TOKEN_FILE", /the agent has no workload identity/],
])("that identity is not shown %s", async (_, more, without, why) => {
  if (without) delete process.env[without];
  expect(await pulls(more)).toMatch(why);
  expect(seen).toEqual([]);
});
