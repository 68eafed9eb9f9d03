import { cluster as noun } from "../generated/cluster.ts";
import type { Diagnostics } from "../schema/diagnostics.ts";
import { attr, root } from "../value/path.ts";
import { field, type ValueMap } from "../value/value.ts";
import { judgeDelivered } from "../wait/delivered.ts";
import { createResource } from "./crud.ts";

export const cluster = createResource(noun, { validate, judge: judgeDelivered("server") });

function validate(config: ValueMap, diagnostics: Diagnostics): void {
  const given = config.get("credentials") ?? null;
  const has = (name: string) => field(given, name) !== null;
  const at = attr(root, "credentials");
  if (has("client_cert_data") !== has("client_key_data"))
    diagnostics.error("Half a client certificate", "`client_cert_data` and `client_key_data` go together.", at);
  if (has("bearer_token") && has("client_cert_data"))
    diagnostics.error("Two ways to sign in", "Give either `bearer_token` or a client certificate.", at);
  if (config.get("insecure") === true && config.get("ca_data") !== null)
    diagnostics.error("Two ways to trust", "`ca_data` has no meaning with `insecure = true`.", attr(root, "insecure"));
}
