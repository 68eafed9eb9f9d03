import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { TaskContext } from "../../kind.ts";
import type { CallHost, GitHost, GitHostAnswer, GitProvider } from "./git-host.ts";
import { gitea } from "./git-host-gitea.ts";
import { github } from "./git-host-github.ts";
import { gitlab } from "./git-host-gitlab.ts";

const HOSTS = { github, gitlab, gitea };

/** The host of a provider's parameters. */
export function openGitHost(context: TaskContext, provider: GitProvider): Outcome<GitHost> {
  const preset = { github: "https://api.github.com", gitlab: "https://gitlab.com/api/v4", gitea: undefined }[
    provider.type
  ];
  const apiUrl = provider.apiUrl ?? preset;
  if (!apiUrl)
    return stop(
      "ParamsInvalid",
      "/params/provider/apiUrl: a Gitea has no address by default, such as https://gitea.example.com/api/v1",
    );
  context.mask(provider.token);
  return done(HOSTS[provider.type](caller(context, provider, apiUrl.replace(/\/+$/, "")), provider.repository));
}

const DEADLINE_MS = 30_000;
const MAX_BYTES = 8 * 1024 * 1024;

function caller(
  context: TaskContext,
  { type, token, caCertificate, repository }: GitProvider,
  apiUrl: string,
): CallHost {
  const authorization: Record<string, string> =
    type === "gitlab"
      ? { "private-token": token }
      : { authorization: type === "github" ? `Bearer ${token}` : `token ${token}` };
  return async (method, path, body, fine = [200, 201, 202, 204]) => {
    const answer = await context.fetch(`${apiUrl}${path}`, {
      method,
      headers: {
        ...authorization,
        accept: type === "github" ? "application/vnd.github+json" : "application/json",
        "user-agent": "outpost-delegate",
        ...(body ? { "content-type": "application/json" } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      ...(caCertificate ? { caCertificate } : {}),
      deadlineMs: DEADLINE_MS,
      maxBytes: MAX_BYTES,
    });
    if (answer.kind !== "done") return answer;
    const { status } = answer.value;
    const json = parse(answer.value.body.toString("utf8"));
    if (fine.includes(status)) return done({ status, json });
    const words = [json?.message, json?.error, json?.error_description]
      .filter((word) => typeof word === "string")
      .join("; ");
    const more = Array.isArray(json?.errors)
      ? json.errors.map((e: { message?: string }) => e?.message ?? JSON.stringify(e)).join("; ")
      : "";
    const said = [words, more].filter(Boolean).join(": ").slice(0, 500);
    if (status === 401 || status === 403)
      return stop("GitHostDenied", `${apiUrl} refuses the token for ${repository} (${status}): ${said}`);
    if (status === 404)
      return stop("GitHostNotFound", `${apiUrl} has no ${path.split("?")[0]}, or the token may not see it`);
    return stop(
      "GitHostRefused",
      `${apiUrl} refuses ${method} ${path.split("?")[0]} (${status}): ${said || "without a reason"}`,
    );
  };
}

function parse(text: string): GitHostAnswer["json"] {
  try {
    return text === "" ? undefined : readJson(text);
  } catch {
    return undefined;
  }
}
