import { at, header, notice, text } from "../notice.ts";
import { isSecret } from "../signature.ts";
import type { Provider } from "./provider.ts";

/** GitLab, webhooks of projects and groups and system hooks: https://docs.gitlab.com/user/project/integrations/webhook_events/ */
export const gitlab: Provider = {
  signed: (call, secret) => isSecret(header(call, "x-gitlab-token"), secret),
  read: ({ payload }) => {
    const kind = text(payload, "object_kind") ?? text(payload, "event_name");
    if (kind === "push" || kind === "tag_push" || kind === "repository_update") {
      const revision = text(payload, "checkout_sha") ?? text(payload, "after");
      return notice(addressesOf(payload), { refs: [text(payload, "ref")], revision });
    }
    if (kind !== "merge_request") return "ignored";
    const [source, target] = ["source", "target"].map((name) => at(payload, "object_attributes", name));
    return notice([...addressesOf(payload), ...addressesOf({ project: target }), ...addressesOf({ project: source })], {
      refs: [text(payload, "object_attributes", "source_branch")],
      revision: text(payload, "object_attributes", "last_commit", "id"),
    });
  },
};

const addressesOf = (payload: unknown) => [
  ...["git_http_url", "git_ssh_url", "http_url", "ssh_url", "web_url"].map((field) => text(payload, "project", field)),
  ...["git_http_url", "git_ssh_url", "url"].map((field) => text(payload, "repository", field)),
];
