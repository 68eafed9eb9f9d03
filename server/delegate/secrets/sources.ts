import { AwsSource } from "./aws.ts";
import type { SourceConfig } from "./config.ts";
import { envSource } from "./env.ts";
import { fileSource } from "./file.ts";
import { kubernetesSource } from "./kubernetes.ts";
import type { SecretSource } from "./source.ts";
import { VaultSource } from "./vault.ts";

export interface SourcesOptions {
  env: NodeJS.ProcessEnv;
  /** From `readSources`; a `kubernetes` among them takes the place of the cluster that the delegate runs in. */
  sources?: ReadonlyMap<string, SourceConfig>;
}

/** Every source that this delegate has, by the name that references give. */
export function secretSources({ env, sources = new Map() }: SourcesOptions): Map<string, SecretSource> {
  return new Map<string, SecretSource>([
    ["env", envSource(env)],
    ["file", fileSource(env.OUTPOST_SECRETS_DIR || "/etc/outpost/secrets")],
    ["kubernetes", kubernetesSource({ env })],
    ...[...sources].map(([name, config]): [string, SecretSource] => [name, sourceOf(config, env)]),
  ]);
}

function sourceOf(config: SourceConfig, env: NodeJS.ProcessEnv): SecretSource {
  switch (config.type) {
    case "vault":
      return new VaultSource(config, env);
    case "aws-secrets-manager":
      return new AwsSource(config, env);
    case "kubernetes":
      return kubernetesSource({ ...config, env });
  }
}
