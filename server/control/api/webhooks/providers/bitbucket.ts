import { at, header, list, notice, text } from "../notice.ts";
import { isSigned } from "../signature.ts";
import type { Provider } from "./provider.ts";

/** Bitbucket Cloud: https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/ */
export const bitbucket: Provider = {
  signed: (call, secret) => isSigned(call, secret, [["x-hub-signature", "sha256="]]),
  read: (told) => {
    const { payload } = told;
    const event = header(told, "x-event-key") ?? "";
    if (event !== "repo:push" && !event.startsWith("pullrequest:")) return "ignored";
    const changes = list(payload, "push", "changes");
    const source = at(payload, "pullrequest", "source");
    return notice([...addressesOf(payload), ...addressesOf(source)], {
      refs: [
        ...changes.flatMap((change) => [text(change, "new", "name"), text(change, "old", "name")]),
        text(source, "branch", "name"),
      ],
      revision: changes.map((change) => text(change, "new", "target", "hash")).find(Boolean),
    });
  },
};

function addressesOf(payload: unknown): (string | undefined)[] {
  const name = text(payload, "repository", "full_name");
  return [text(payload, "repository", "links", "html", "href"), name && `https://bitbucket.org/${name}`];
}
