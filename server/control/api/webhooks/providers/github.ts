import { at, header, image, notice, type Reading, type Told, text } from "../notice.ts";
import { isSigned } from "../signature.ts";
import type { Provider } from "./provider.ts";

/** GitHub and GitHub Enterprise: https://docs.github.com/en/webhooks/webhook-events-and-payloads */
export const github: Provider = {
  signed: (call, secret) => isSigned(call, secret, [["x-hub-signature-256", "sha256="]]),
  read: (told) => {
    const { payload } = told;
    switch (header(told, "x-github-event")) {
      case "push":
        return notice(addressesOf(payload), { refs: [text(payload, "ref")], revision: text(payload, "after") });
      case "create":
      case "delete":
      case "release":
      case "repository":
        return notice(addressesOf(payload), { refs: [text(payload, "ref")] });
      case "pull_request":
        return notice(
          [...addressesOf(payload), ...addressesOf({ repository: at(payload, "pull_request", "head", "repo") })],
          {
            refs: [text(payload, "pull_request", "head", "ref")],
            revision: text(payload, "pull_request", "head", "sha"),
          },
        );
      case "package":
      case "registry_package":
        return readPackage(told);
      default:
        return "ignored";
    }
  },
};

const addressesOf = (payload: unknown) =>
  ["clone_url", "ssh_url", "html_url", "git_url"].map((field) => text(payload, "repository", field));

/** A container or chart in the registry beside the host. */
export function readPackage({ payload }: Told): Reading {
  const found = at(payload, "registry_package") ?? at(payload, "package");
  if (!/^container$/i.test(text(found, "package_type") ?? "")) return "ignored";
  // `ghcr.io/owner/name:tag`, or a registry of an Enterprise server; absent while a version has no tag.
  const url = text(found, "package_version", "package_url");
  const [name, registry] = [text(found, "name"), hostOf(text(found, "registry", "url")) ?? "ghcr.io"];
  const owners = [
    text(found, "namespace"),
    text(found, "owner", "login"),
    text(payload, "repository", "owner", "login"),
  ];
  return notice(
    [
      url && !url.endsWith(":") ? image(url) : undefined,
      ...(name ? owners.map((owner) => owner && `oci://${registry}/${owner}/${name}`) : []),
    ],
    { refs: [text(found, "package_version", "container_metadata", "tag", "name")] },
  );
}

/** GitHub names `https://npm.pkg.github.com/…` there for packages of other kinds. */
function hostOf(url: string | undefined): string | undefined {
  const host = url === undefined ? undefined : URL.parse(url)?.host;
  return host && /^(ghcr|containers|docker)\./.test(host) ? host : undefined;
}
