import { repository as noun } from "../generated/repository.ts";
import type { Diagnostics } from "../schema/diagnostics.ts";
import { attr, root } from "../value/path.ts";
import { field, stringField, type Value, type ValueMap } from "../value/value.ts";
import { judgeDelivered } from "../wait/delivered.ts";
import { createResource } from "./crud.ts";

export const repository = createResource(noun, { validate, judge: judgeDelivered("url") });

const isSet = (value: Value): boolean => value !== null;

/** One way to sign in, and one that the address can take. */
function validate(config: ValueMap, diagnostics: Diagnostics): void {
  const given = config.get("credentials") ?? null;
  const url = stringField(config, "url");
  const at = attr(root, "credentials");
  const has = (name: string) => isSet(field(given, name));
  if (has("password") && has("bearer_token")) diagnostics.error("Two ways to sign in", "Give either `password` or `bearer_token`.", at);
  if (url === undefined) return;
  const ssh = /^(ssh:\/\/|[A-Za-z0-9_.-]+@[^\s:/]+:)/.test(url);
  if (ssh && (has("password") || has("bearer_token"))) diagnostics.error("Not for SSH", "An SSH address takes `ssh_private_key`.", at);
  if (!ssh && has("ssh_private_key"))
    diagnostics.error("Only for SSH", "`ssh_private_key` needs an SSH address, as ssh://git@host/repository.", at);
}
