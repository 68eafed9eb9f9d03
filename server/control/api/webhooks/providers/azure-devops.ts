import { list, notice, text } from "../notice.ts";
import { basicPassword, isSecret } from "../signature.ts";
import type { Provider } from "./provider.ts";

/** Azure DevOps service hooks: https://learn.microsoft.com/azure/devops/service-hooks/events */
export const azureDevOps: Provider = {
  username: "outpost",
  signed: (call, secret) => isSecret(basicPassword(call), secret),
  read: ({ payload }) => {
    const event = text(payload, "eventType") ?? "";
    if (event !== "git.push" && !event.startsWith("git.pullrequest.")) return "ignored";
    const updates = list(payload, "resource", "refUpdates");
    return notice(
      ["remoteUrl", "sshUrl", "webUrl"].map((field) => text(payload, "resource", "repository", field)),
      {
        refs: [...updates.map((update) => text(update, "name")), text(payload, "resource", "sourceRefName")],
        revision: text(updates[0], "newObjectId") ?? text(payload, "resource", "lastMergeSourceCommit", "commitId"),
      },
    );
  },
};
