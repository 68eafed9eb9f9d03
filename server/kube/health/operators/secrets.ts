import { type Checks, conditions, firstOf, ready, waiting, when } from "../rules.ts";
import { conditionsOf, type HealthCheck, health } from "../types.ts";

/** New conditions are appended: only the last one counts. */
const clusterExternalSecret: HealthCheck = (object) => {
  const last = conditionsOf(object).at(-1);
  return conditions(
    ["Ready", "True", "Healthy"],
    ["PartiallyReady", "True", "Degraded"],
    ["NotReady", "True", "Degraded"],
  )({
    ...object,
    status: { conditions: last ? [last] : [] },
  });
};

export const secrets: Checks = {
  "external-secrets.io/ExternalSecret": ready("Waiting for ExternalSecret"),
  "external-secrets.io/ClusterExternalSecret": firstOf(
    clusterExternalSecret,
    waiting("Waiting for ClusterExternalSecret"),
  ),
  "external-secrets.io/PushSecret": ready("Waiting for PushSecret"),
  "external-secrets.io/SecretStore": ready("Waiting for SecretStore"),
  "external-secrets.io/ClusterSecretStore": ready("Waiting for ClusterSecretStore"),
  "kubernetes-client.io/ExternalSecret": firstOf(
    when(({ status }) => status?.status === "SUCCESS", "Healthy", "Fetched ExternalSecret."),
    when(
      ({ status }) => /^ERROR/.test(status?.status ?? ""),
      "Degraded",
      ({ status }) => status.status.replaceAll("ERROR, ", ""),
    ),
    waiting("Waiting for ExternalSecret."),
  ),
  "bitnami.com/SealedSecret": ready("Waiting for Sealed Secret to be decrypted", "Synced"),
  "onepassword.com/OnePasswordItem": ready("Waiting for controller to report status"),
  "iammanager.keikoproj.io/Iamrole": ({ status = {} }) => {
    const { roleName = "<none>", roleARN = "<none>", roleID = "<none>", retryCount, errorDescription } = status;
    if (status.state === "Ready")
      return health("Healthy", `Role '${roleName}' exists with ARN '${roleARN}' and ID '${roleID}'.`);
    if (!["Error", "RolesMaxLimitReached", "PolicyNotAllowed", "RoleNameNotAvailable"].includes(status.state))
      return health("Progressing", "Waiting for Iamrole to be reconciled");
    const retry = retryCount > 0 ? `(retry ${retryCount}) ` : "";
    const why = errorDescription === undefined ? "" : ` Reconciliation error was: ${errorDescription}`;
    return health(
      "Degraded",
      `Failed to reconcile the Iamrole ${retry}for role '${roleName}' with ARN '${roleARN}' and ID '${roleID}'.${why}`,
    );
  },
};
