import { at, header, notice, text } from "../notice.ts";
import { isSigned } from "../signature.ts";
import type { Provider } from "./provider.ts";

/** Gitea, Forgejo and Gogs: https://docs.gitea.com/usage/webhooks */
export const gitea: Provider = {
  signed: (call, secret) =>
    isSigned(call, secret, [
      ["x-gitea-signature", ""],
      ["x-forgejo-signature", ""],
      ["x-gogs-signature", ""],
      ["x-hub-signature-256", "sha256="],
    ]),
  read: (told) => {
    const { payload } = told;
    const names = ["x-gitea-event", "x-forgejo-event", "x-gogs-event", "x-github-event"];
    const event = names.map((name) => header(told, name)).find((name) => name !== undefined);
    switch (event) {
      case "push":
        return notice(addressesOf(payload), { refs: [text(payload, "ref")], revision: text(payload, "after") });
      case "create":
      case "delete":
      case "release":
      case "repository":
        return notice(addressesOf(payload), { refs: [text(payload, "ref")], revision: text(payload, "sha") });
      case "pull_request":
      case "pull_request_sync":
      case "pull_request_label":
        return notice(
          [...addressesOf(payload), ...addressesOf({ repository: at(payload, "pull_request", "head", "repo") })],
          {
            refs: [text(payload, "pull_request", "head", "ref")],
            revision: text(payload, "pull_request", "head", "sha"),
          },
        );
      case "package":
        return readPackage(payload);
      default:
        return "ignored";
    }
  },
};

const addressesOf = (payload: unknown) =>
  ["clone_url", "ssh_url", "html_url"].map((field) => text(payload, "repository", field));

/** The registry is at the host itself: `host/owner/name`. */
function readPackage(payload: unknown) {
  if (text(payload, "package", "type") !== "container") return "ignored";
  const host = URL.parse(text(payload, "package", "html_url") ?? text(payload, "repository", "html_url") ?? "")?.host;
  const [owner, name] = [text(payload, "package", "owner", "login"), text(payload, "package", "name")];
  return notice([host && owner && name ? `oci://${host}/${owner}/${name}` : undefined], {
    refs: [text(payload, "package", "version")],
  });
}
