import { existsSync } from "node:fs";
import { link, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { cacheRoot } from "./cache.ts";
import type { Programs } from "./tools.ts";

/** The official providers, as their builds here call themselves. */
const providers = [
  { program: "terraform-provider-kubernetes", name: "kubernetes", version: "3.2.1" },
  { program: "terraform-provider-helm", name: "helm", version: "3.2.0" },
];

const HOST = "registry.terraform.io";

/** Path of a provider inside a filesystem mirror ("unpacked" layout). */
export function mirrorPath(source: string, version: string, platform = "linux_amd64"): string {
  const name = source.split("/")[1]!;
  return join(HOST, source, version, platform, `terraform-provider-${name}_v${version}_x5`);
}

/** Lays the built providers out as a filesystem mirror and gives its folder. */
export async function terraformMirror(programs: Programs, root = join(cacheRoot(), "tf-mirror")): Promise<string> {
  for (const { program, name, version } of providers) {
    const from = programs[program];
    if (!from) throw new Error(`${program} is not built`);
    const to = join(root, mirrorPath(`hashicorp/${name}`, version));
    await mkdir(dirname(to), { recursive: true });
    // A rename in place, as another process may be running the old file.
    const fresh = `${to}.${process.pid}`;
    await rm(fresh, { force: true });
    await link(from, fresh);
    await rename(fresh, to);
    // Renaming one hard link onto another of the same file does nothing and leaves both.
    if (existsSync(fresh)) await rm(fresh);
  }
  return root;
}

export interface TerraformConfig {
  /** Mirror of the official providers. */
  mirror: string;
  /** Mirror which has `registry.terraform.io/outpost/outpost`. */
  own?: string;
}

/** The CLI configuration text: only these mirrors, never the network. */
export function terraformConfig({ mirror, own }: TerraformConfig): string {
  const method = (path: string, include: string) =>
    `  filesystem_mirror {\n    path    = ${JSON.stringify(path)}\n    include = [${JSON.stringify(include)}]\n  }\n`;
  const methods = method(mirror, `${HOST}/hashicorp/*`) + (own ? method(own, `${HOST}/outpost/*`) : "");
  return `disable_checkpoint = true\nprovider_installation {\n${methods}}\n`;
}

/** Writes the CLI configuration and gives the environment that makes terraform use it. */
export async function writeTerraformConfig(file: string, config: TerraformConfig): Promise<Record<string, string>> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, terraformConfig(config));
  return { TF_CLI_CONFIG_FILE: file, CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1" };
}
