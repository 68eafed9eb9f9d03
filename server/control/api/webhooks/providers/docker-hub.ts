import { notice, text } from "../notice.ts";
import { isSecret } from "../signature.ts";
import type { Provider } from "./provider.ts";

/** Docker Hub signs nothing and sends no header of ours: https://docs.docker.com/docker-hub/repos/manage/webhooks/ */
export const dockerHub: Provider = {
  secretInAddress: true,
  signed: (call, secret) => isSecret(call.secret, secret),
  // `callback_url` is there too, and is never called: who can forge a payload could have us call anybody.
  read: ({ payload }) => {
    const name = text(payload, "repository", "repo_name");
    return notice([name && `oci://docker.io/${name}`], { refs: [text(payload, "push_data", "tag")] });
  },
};
