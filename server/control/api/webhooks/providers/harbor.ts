import { at, header, image, list, notice, text } from "../notice.ts";
import { bearer, isSecret } from "../signature.ts";
import type { Provider } from "./provider.ts";

const CHANGES = /^(PUSH_ARTIFACT|DELETE_ARTIFACT|UPLOAD_CHART|DELETE_CHART|harbor\.artifact\.(pushed|deleted))$/;

/** Harbor, its own format and CloudEvents: https://goharbor.io/docs/main/working-with-projects/project-configuration/configure-webhooks/ */
export const harbor: Provider = {
  // What is entered as "Auth Header" comes as it is.
  signed: (call, secret) => isSecret(bearer(call) ?? header(call, "authorization"), secret),
  read: ({ payload }) => {
    if (!CHANGES.test(text(payload, "type") ?? "")) return "ignored";
    const data = at(payload, "event_data") ?? at(payload, "data");
    const resources = list(data, "resources");
    return notice(
      resources.map((resource) => {
        const url = text(resource, "resource_url");
        return url && image(url);
      }),
      { refs: resources.map((resource) => text(resource, "tag")) },
    );
  },
};
