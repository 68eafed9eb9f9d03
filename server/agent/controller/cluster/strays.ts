import { describe } from "../../../kube/object.ts";
import { instanceOf } from "../../project/instance.ts";
import type { Application } from "../application.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import type { Destination } from "../destination.ts";
import { prunable } from "../tasks.ts";
import { appLabel, isStray } from "../tracking.ts";

const SHOWN = 10;

/** The message about objects that were made for an application and no longer carry its mark; undefined when there are none. */
export function straysOf(
  app: Application,
  destination: Destination,
  targets: readonly CompareTarget[],
): string | undefined {
  const { tracking } = destination.settings;
  const instance = instanceOf(app, destination.own);
  const strays = prunable(destination.live.ofApp(appLabel(instance)), targets, (object) =>
    isStray(object, instance, tracking),
  );
  if (strays.length === 0) return undefined;
  const named = strays.slice(0, SHOWN).map(describe).join(", ");
  return `marked by other tracking settings of argocd-cm, or for another installation, and so neither pruned nor deleted: ${named}${strays.length > SHOWN ? ` and ${strays.length - SHOWN} more` : ""}`;
}
