import { appProject as noun } from "../../generated/app-project.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { attr, index, type Path, root } from "../../value/path.ts";
import { isMap, type Value, type ValueMap } from "../../value/value.ts";
import { judgeDelivered } from "../../wait/delivered.ts";
import { given, isBelowAgent } from "../checks.ts";
import { createResource } from "../crud/resource.ts";

export const appProject = createResource(noun, { validate, judge: judgeDelivered("agent") });

const each = (value: Value | undefined, path: Path, visit: (one: ValueMap, at: Path) => void): void => {
  if (Array.isArray(value)) for (const [i, one] of value.entries()) if (isMap(one)) visit(one, index(path, i));
};

function validate(config: ValueMap, diagnostics: Diagnostics): void {
  each(config.get("sync_windows"), attr(root, "sync_windows"), (one, at) => {
    if (!["applications", "namespaces", "clusters"].some((name) => isSome(one.get(name))))
      diagnostics.error(
        "A window for nothing",
        'Say what it is for: `applications = ["*"]`, `namespaces` or `clusters`.',
        at,
      );
  });
  if (isBelowAgent(config) && isSome(config.get("destination_service_accounts")))
    diagnostics.error(
      "Accounts are named above",
      "Only a project in the agent's own scope names service accounts. Leave them out: the applications of this project write as the account that the project above it names.",
      attr(root, "destination_service_accounts"),
    );
  each(config.get("destinations"), attr(root, "destinations"), (one, at) => {
    if (!given(one, "server") && !given(one, "name"))
      diagnostics.error(
        "A destination without a cluster",
        'Give `server` or `name`; `name = "in-cluster"` is the agent\'s own.',
        at,
      );
  });
}

/** Set and not empty; an unknown value may be set. */
const isSome = (value: Value | undefined): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
