import { delegateName, type InstallValues, permissionsOf } from "./values.ts";
import { comment, some, yaml } from "./yaml.ts";

/** Values for the chart `outpost-delegate`, and how to use them. */
export function renderDelegateValues(values: InstallValues): string {
  const { id, account, org, project, description, tags, endpoint, token, existingSecret, replicas, permissions } =
    values;
  const { image, imagePullSecret, httpsProxy, noProxy, caCertificate, initScript, namespace } = values;
  // Helm's bound on the name of a release.
  const release = delegateName(id).slice(0, 53).replace(/-+$/, "");
  const upgrade = `helm upgrade --install ${release} outpost-delegate --namespace ${namespace} --create-namespace --values FILE`;
  const missing = token === undefined && existingSecret === undefined;
  const head = missing
    ? comment(
        "The enrolment token is missing here, and comes in beside this file:",
        `  outpost delegate token ${id} | ${upgrade} --set-file token=/dev/stdin`,
      )
    : comment(upgrade);
  const body = some({
    delegate: some({ name: id, account, org, project, description, tags: tags?.length ? tags : undefined }),
    endpoint,
    token,
    existingTokenSecret: existingSecret === undefined ? undefined : { name: existingSecret, key: "token" },
    replicas,
    permissions: permissions === undefined ? undefined : permissionsOf(permissions),
    image: some({ reference: image, pullSecrets: imagePullSecret === undefined ? undefined : [imagePullSecret] }),
    proxy: some({ httpsProxy, noProxy }),
    ca: some({ bundle: caCertificate }),
    initScript,
  });
  return head + yaml(body);
}
