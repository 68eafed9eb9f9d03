import { appProject as noun } from "../generated/app-project.ts";
import type { Diagnostics } from "../schema/diagnostics.ts";
import { attr, index, type Path, root } from "../value/path.ts";
import { isMap, stringField, type Value, type ValueMap } from "../value/value.ts";
import { judgeDelivered } from "../wait/delivered.ts";
import { given, isBelowAgent } from "./checks.ts";
import { cronFault } from "./cron.ts";
import { createResource } from "./crud.ts";

export const appProject = createResource(noun, { validate, judge: judgeDelivered("agent") });

const each = (value: Value | undefined, path: Path, visit: (one: ValueMap, at: Path) => void): void => {
  if (Array.isArray(value)) for (const [i, one] of value.entries()) if (isMap(one)) visit(one, index(path, i));
};

function validate(config: ValueMap, diagnostics: Diagnostics): void {
  each(config.get("sync_windows"), attr(root, "sync_windows"), (one, at) => {
    const schedule = stringField(one, "schedule");
    const fault = schedule === undefined ? undefined : cronFault(schedule);
    if (fault) diagnostics.error("Not a schedule", `Five fields of cron are wanted, as \`0 22 * * 1-5\`: ${fault}.`, attr(at, "schedule"));
    const zone = stringField(one, "time_zone");
    if (zone && !isZone(zone))
      diagnostics.error(
        "Not a time zone",
        `There is no time zone ${JSON.stringify(zone)}. One is \`Europe/Berlin\`.`,
        attr(at, "time_zone"),
      );
    if (!["applications", "namespaces", "clusters"].some((name) => isSome(one.get(name))))
      diagnostics.error("A window for nothing", 'Say what it is for: `applications = ["*"]`, `namespaces` or `clusters`.', at);
  });
  if (isBelowAgent(config) && isSome(config.get("destination_service_accounts")))
    diagnostics.error(
      "Accounts are named above",
      "Only a project in the agent's own scope names service accounts. Leave them out: the applications of this project write as the account that the project above it names.",
      attr(root, "destination_service_accounts"),
    );
  each(config.get("destinations"), attr(root, "destinations"), (one, at) => {
    if (!given(one, "server") && !given(one, "name"))
      diagnostics.error("A destination without a cluster", 'Give `server` or `name`; `name = "in-cluster"` is the agent\'s own.', at);
  });
}

/** Not left out and not empty; what is not known yet may be something. */
const isSome = (value: Value | undefined): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
