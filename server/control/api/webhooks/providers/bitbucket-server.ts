import { at, header, list, notice, text } from "../notice.ts";
import { isSigned } from "../signature.ts";
import type { Provider } from "./provider.ts";

/** Bitbucket Server and Data Center: https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html */
export const bitbucketServer: Provider = {
  signed: (call, secret) => isSigned(call, secret, [["x-hub-signature", "sha256="]]),
  read: (told) => {
    const { payload } = told;
    const event = header(told, "x-event-key") ?? "";
    if (event === "repo:refs_changed" || event === "mirror:repo_synchronized") {
      const changes = list(payload, "changes");
      return notice(addressesOf(at(payload, "repository")), {
        refs: changes.map((change) => text(change, "ref", "id") ?? text(change, "refId")),
        revision: changes.map((change) => text(change, "toHash")).find(Boolean),
      });
    }
    if (!event.startsWith("pr:")) return "ignored";
    const [from, to] = ["fromRef", "toRef"].map((name) => at(payload, "pullRequest", name));
    return notice(
      [to, from].flatMap((ref) => addressesOf(at(ref, "repository"))),
      {
        refs: [text(from, "id")],
        revision: text(from, "latestCommit"),
      },
    );
  },
};

const addressesOf = (repository: unknown) =>
  ["clone", "self"].flatMap((kind) => list(repository, "links", kind).map((link) => text(link, "href")));
