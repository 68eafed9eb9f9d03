import { renderDocker } from "./docker.ts";
import { renderEcs } from "./ecs.ts";
import { renderDelegateValues } from "./helm-values.ts";
import { renderPowershell } from "./powershell.ts";
import type { DelegateFormat } from "./refused.ts";
import { renderDelegateManifest } from "./render.ts";
import { renderShell } from "./shell.ts";
import type { InstallValues } from "./values.ts";

/** How each format is drawn, and what it is on the wire; JSON is YAML. */
export const delegateFormats: Record<
  DelegateFormat,
  { type: "application/yaml" | "text/plain"; draw: (values: InstallValues) => string }
> = {
  kubernetes: { type: "application/yaml", draw: renderDelegateManifest },
  "helm-values": { type: "application/yaml", draw: renderDelegateValues },
  docker: { type: "text/plain", draw: renderDocker },
  ecs: { type: "application/yaml", draw: renderEcs },
  shell: { type: "text/plain", draw: renderShell },
  powershell: { type: "text/plain", draw: renderPowershell },
};
