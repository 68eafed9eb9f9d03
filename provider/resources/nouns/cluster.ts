import { AT_HOME, clusterIdFault } from "../../../openapi/rules/argo/cluster.ts";
import { isHomeAddress } from "../../../openapi/rules/argo/home-cluster.ts";
import { cluster as noun } from "../../generated/cluster.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { attr, root } from "../../value/path.ts";
import { field, isMap, stringField, type ValueMap } from "../../value/value.ts";
import { judgeDelivered } from "../../wait/delivered.ts";
import { checkPem, known, PEM } from "../checks.ts";
import { createResource } from "../crud/resource.ts";

export const cluster = createResource(noun, { validate, judge: judgeDelivered("server") });

function validate(config: ValueMap, diagnostics: Diagnostics): void {
  const given = config.get("credentials") ?? null;
  const fault = clusterIdFault(stringField(config, "id") ?? "");
  if (fault) diagnostics.error("Invalid value", fault, attr(root, "id"));
  if (isMap(given) && isHomeAddress(stringField(config, "server") ?? ""))
    diagnostics.error("Invalid value", AT_HOME, attr(root, "credentials"));
  const has = (name: string) => field(given, name) !== null;
  const at = attr(root, "credentials");
  if (has("client_cert_data") !== has("client_key_data"))
    diagnostics.error("Half a client certificate", "`client_cert_data` and `client_key_data` go together.", at);
  if (["bearer_token", "password", "client_cert_data"].filter((name) => known(given, name)).length > 1)
    diagnostics.error(
      "Two ways to sign in",
      "Give only one of `bearer_token`, `password` and a client certificate.",
      at,
    );
  const [aws, exec] = [known(config, "aws_auth"), known(config, "exec")];
  const other = ["bearer_token", "password", "client_cert_data"].find((name) => known(given, name));
  if ((aws && exec) || ((aws || exec) && other))
    diagnostics.error(
      "Two ways to sign in",
      `\`${aws ? "aws_auth" : "exec"}\` signs in by itself: leave out this or \`${aws && exec ? "exec" : other}\`.`,
      attr(root, aws ? "aws_auth" : "exec"),
    );
  const [certificate, key] = [stringField(given, "client_cert_data"), stringField(given, "client_key_data")];
  if (certificate !== undefined)
    checkPem(certificate, PEM.certificate, "A certificate", attr(at, "client_cert_data"), diagnostics);
  if (key !== undefined) checkPem(key, PEM.privateKey, "A private key", attr(at, "client_key_data"), diagnostics);
  if (config.get("insecure") === true && config.get("ca_data") !== null)
    diagnostics.warning(
      "Two ways to trust",
      "`ca_data` has no meaning with `insecure = true`.",
      attr(root, "insecure"),
    );
}
