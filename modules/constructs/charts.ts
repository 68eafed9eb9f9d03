import { fileURLToPath } from "node:url";
import { AssetType, Fn, TerraformAsset, Token } from "cdktf";
import type { Construct } from "constructs";

/** Charts that come with this library. */
export type BundledChart = "outpost-agent" | "outpost-delegate" | "outpost-namespace";

/**
 * Copies a bundled chart beside the synthesised stack and gives its path there. The path has the content's hash in it, so
 * that a changed chart shows in the plan.
 */
export function bundledChart(scope: Construct, name: BundledChart): string {
  const path = fileURLToPath(new URL(`../charts/${name}`, import.meta.url));
  return `./${new TerraformAsset(scope, `chart-${name}`, { path, type: AssetType.DIRECTORY }).path}`;
}

/** Helm's bound; names of workers and namespaces may be longer. */
const RELEASE_NAME = 53;

/** `prefix-name`, cut to what Helm takes as the name of a release. */
export function releaseName(prefix: string, name: string): string {
  if (Token.isUnresolved(name)) return Fn.trimsuffix(Fn.substr(Fn.join("-", [prefix, name]), 0, RELEASE_NAME), "-");
  return `${prefix}-${name}`.slice(0, RELEASE_NAME).replace(/-+$/, "");
}
