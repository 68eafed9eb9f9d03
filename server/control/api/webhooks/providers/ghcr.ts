import { header } from "../notice.ts";
import { github, readPackage } from "./github.ts";
import type { Provider } from "./provider.ts";

/** GitHub's container registry: a webhook of GitHub with the event `package` or `registry_package`. */
export const ghcr: Provider = {
  signed: github.signed,
  read: (told) =>
    /^(package|registry_package)$/.test(header(told, "x-github-event") ?? "") ? readPackage(told) : "ignored",
};
