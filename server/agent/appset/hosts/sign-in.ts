import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { azureToken } from "../../repo/auth/azure.ts";
import { githubToken } from "../../repo/auth/github-app.ts";
import { redactUrl } from "../../repo/url.ts";
import { APPSET, type Free } from "../types.ts";
import type { Asker, Provider } from "../world/scm.ts";
import { GITHUB_API } from "./github.ts";

type SignIn = Provider<unknown>["signIn"];

/** What a Secret holds that a setting names. */
async function secretOf(ref: Free, { world }: Asker): Promise<Outcome<string>> {
  const secret = await world.secret(String(ref.secretName), String(ref.key));
  return secret.kind === "done" ? done(secret.value.reveal().trim()) : secret;
}

const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});

/** A token in a header of the host's own; without a Secret one asks as anybody. */
export const byToken =
  (field: "tokenRef" | "accessTokenRef", header: (token: string) => Record<string, string>): SignIn =>
  async (settings, asker) => {
    if (!settings[field]) return done({});
    const token = await secretOf(settings[field], asker);
    return token.kind === "done" ? done({ headers: header(token.value) }) : token;
  };

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Why a tenant's set asks with a token: what the agent's identity sees belongs to the agent's scope. */
export const AGENT_IDENTITY =
  "the agent's own identity in the cloud is only for sets of the agent's own scope: use a token, or ask its operator to make the set";

/** The agent's own identity in Azure, which Azure DevOps alone is shown; or a personal access token, which is a password without a name. */
export const byAzure =
  (field: "tokenRef" | "accessTokenRef"): SignIn =>
  async (settings, asker) => {
    if (settings.useWorkloadIdentity !== true) return byToken(field, (token) => basic("", token))(settings, asker);
    if (asker.world.tenant !== undefined) return stop(APPSET.params, AGENT_IDENTITY);
    if (!process.env.AZURE_FEDERATED_TOKEN_FILE)
      return stop(
        APPSET.params,
        "the agent has no workload identity of Azure (AZURE_FEDERATED_TOKEN_FILE, AZURE_TENANT_ID, AZURE_CLIENT_ID): label its Pod azure.workload.identity/use=true and annotate its service account",
      );
    const token = await azureToken({
      url: String(settings.api),
      azureWorkloadIdentity: true,
      insecure: settings.insecure === true,
    });
    return token.kind === "done" ? done({ headers: bearer(token.value.reveal()), identity: true }) : token;
  };

/** `bearerToken`, `basicAuth`, or for a list of Bitbucket Cloud's repositories `user` and `appPasswordRef`. */
export const byBitbucket: SignIn = async ({ bearerToken, basicAuth, user, appPasswordRef }, asker) => {
  const ref = bearerToken?.tokenRef ?? basicAuth?.passwordRef ?? appPasswordRef;
  if (!ref) return done({});
  const secret = await secretOf(ref, asker);
  if (secret.kind !== "done") return secret;
  return done({
    headers: bearerToken?.tokenRef
      ? bearer(secret.value)
      : basic(String(basicAuth?.username ?? user ?? ""), secret.value),
  });
};

/** A GitHub App, whose address is where one asks; or a token, or nothing. */
export const github: Pick<Provider<unknown>, "api" | "signIn"> = {
  api: async ({ api, appSecretName }, { world, project }) => {
    if (api || !appSecretName) return done(String(api || GITHUB_API));
    const app = await world.githubApp(String(appSecretName), project);
    return app.kind === "done" ? done(app.value.githubApp.baseUrl ?? GITHUB_API) : app;
  },
  signIn: async (settings, asker) => {
    if (!settings.appSecretName) return byToken("tokenRef", bearer)(settings, asker);
    const app = await asker.world.githubApp(String(settings.appSecretName), asker.project);
    if (app.kind !== "done") return app;
    // The set's author names the host to ask, so the app's token is sent to the app's own host only.
    const [own, asked] = [app.value.githubApp.baseUrl ?? GITHUB_API, String(settings.api)];
    if (!URL.canParse(own) || new URL(own).origin !== URL.parse(asked)?.origin)
      return stop(
        APPSET.params,
        `the GitHub App of Secret ${settings.appSecretName} is not shown to ${redactUrl(asked)}, but to ${redactUrl(own)}`,
      );
    const owner = encodeURIComponent(String(settings.organization ?? settings.owner));
    const token = await githubToken({ url: `${new URL(own).origin}/${owner}`, ...app.value });
    return token.kind === "done" ? done({ headers: bearer(token.value.reveal()), identity: true }) : token;
  },
};
