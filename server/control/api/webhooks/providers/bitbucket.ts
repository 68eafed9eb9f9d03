import { header, list, notice, text } from "../notice.ts";
import { isSigned } from "../signature.ts";
import type { Provider } from "./provider.ts";

/** Bitbucket Cloud: https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/ */
export const bitbucket: Provider = {
  signed: (call, secret) => isSigned(call, secret, [["x-hub-signature", "sha256="]]),
  read: (told) => {
    const { payload } = told;
    const event = header(told, "x-event-key") ?? "";
    if (event !== "repo:push" && !event.startsWith("pullrequest:")) return "ignored";
    const name = text(payload, "repository", "full_name");
    const changes = list(payload, "push", "changes");
    return notice([text(payload, "repository", "links", "html", "href"), name && `https://bitbucket.org/${name}`], {
      refs: changes.flatMap((change) => [text(change, "new", "name"), text(change, "old", "name")]),
      revision: changes.map((change) => text(change, "new", "target", "hash")).find(Boolean),
    });
  },
};
