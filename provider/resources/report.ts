import { report } from "../client/problem.ts";
import type { Attributes } from "../schema/attribute.ts";
import type { Diagnostics } from "../schema/diagnostics.ts";
import type { Waited } from "../wait/wait.ts";

/** Reports a wait that did not end well. */
export function reportWait(diagnostics: Diagnostics, action: string, waited: Waited, attributes: Attributes): void {
  if (waited.kind === "problem") report(diagnostics, action, waited.problem, attributes);
  else if (waited.kind === "failed") diagnostics.error(`${action}: it cannot succeed`, waited.reason, waited.path);
  else if (waited.kind === "timeout")
    diagnostics.error(
      `${action}: out of time`,
      `The last reason was: ${waited.reason}. Give it longer with \`timeouts\`, or look into the reason.`,
    );
}
