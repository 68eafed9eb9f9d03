import { jest } from "@jest/globals";
import { createOutpost } from "./outpost.ts";
import { createHarness } from "./testing/harness.ts";
import { type RealService, startRealService } from "./testing/real.ts";

jest.setTimeout(200_000);

let service: RealService;
beforeAll(async () => {
  service = await startRealService();
  await service.ask("PUT", "/v1/organizations/team", { spec: {} });
  await service.ask("PUT", "/v1/agents/production", { spec: {} });
  await service.ask("PUT", "/v1/agents/staging?org=team", { spec: {} });
  await service.ask("PUT", "/v1/webhooks/github", { spec: { provider: "github" } });
});
afterAll(() => service?.stop());

const block = (id: string) =>
  `import {\n  to = outpost_agent.a\n  id = "${id}"\n}\nresource "outpost_agent" "a" { id = "production" }\n`;

test.each([
  [
    "a data source",
    'data "outpost_agent" "a" { id = "prodution" }',
    "There is no agent `prodution` in the account itself. Did you mean `production`?",
  ],
  [
    "a data source in an organization",
    'data "outpost_agent" "a" {\n  id = "stagin"\n  org = "team"\n}',
    "There is no agent `stagin` in the organization `team`. Did you mean `staging`?",
  ],
  [
    "a token",
    'ephemeral "outpost_agent_token" "a" { agent = "prodution" }',
    "There is no agent `prodution` in the account itself. Did you mean `production`?",
  ],
  [
    "a webhook's secret",
    'ephemeral "outpost_webhook_secret" "a" { webhook = "gitub" }',
    "There is no webhook `gitub` in the account itself. Did you mean `github`?",
  ],
  [
    "an import",
    block("prodution"),
    "There is no agent `prodution` in the account itself. Did you mean `production`? An import id names its scope: `[org/[project/]]id`.",
  ],
  [
    "an import from an organization",
    block("team/stagin"),
    "There is no agent `stagin` in the organization `team`. Did you mean `staging`?",
  ],
  [
    "an import id with a wrong sign",
    block("team/Staging"),
    'The import id of outpost_agent is `[org/[project/]]id`, for example `team/shop/example`, got "team/Staging". "Staging" is not an id: small letters',
  ],
  [
    "an import id with too many parts",
    block("a/b/c/d"),
    'The import id of outpost_agent is `[org/[project/]]id`, for example `team/shop/example`, got "a/b/c/d".',
  ],
])(
  "%s of something that is not there says where it was looked for and what was probably meant",
  async (_, hcl, want) => {
    const h = await createHarness(
      createOutpost({ OUTPOST_ENDPOINT: service.endpoint, OUTPOST_API_KEY: service.key }),
      {},
      "outpost",
    );
    try {
      h.config(hcl);
      expect(await h.fails("plan")).toContain(want);
    } finally {
      await h.close();
    }
  },
);
