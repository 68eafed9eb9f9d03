import { join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import { readConfig } from "../config/file.ts";
import { readSettings, type Settings, withProxy } from "../config/settings.ts";
import { readSources, type Sources } from "../secrets/config.ts";
import { type Check, fail, LAYERS, ok, skipped } from "./check.ts";
import { checkCapabilities, checkSandbox, checkSecrets, checkWorkDir } from "./place.ts";
import { show } from "./print.ts";
import { checkService } from "./service.ts";
import { checkWire } from "./wire.ts";

export interface DoctorOptions {
  format: "table" | "json";
  colour: boolean;
  write(text: string): void;
  now?: () => number;
}

/** Prints what was found; resolves with 0 when nothing failed, 1 otherwise. Warnings are no failures. */
export async function runDoctor(env: NodeJS.ProcessEnv, options: DoctorOptions): Promise<number> {
  const checks = await examine(env, options.now ?? Date.now);
  const healthy = checks.every(({ state }) => state !== "fail");
  options.write(
    options.format === "json" ? `${JSON.stringify({ ok: healthy, checks }, null, 2)}\n` : show(checks, options.colour),
  );
  return healthy ? 0 : 1;
}

/** All checks in the order of the layers; those that could not be made any more say so. */
export async function examine(given: NodeJS.ProcessEnv, now: () => number = Date.now): Promise<Check[]> {
  const checks: Check[] = [];
  const read = settingsOf(given);
  if (typeof read === "string") checks.push(fail("settings", read));
  else {
    const { env, settings, path, scopes } = read;
    checks.push(ok("settings", `${settings.endpoint}${path ? `, with ${path}` : ""}`));
    checks.push(...(await checkWire({ endpoint: settings.endpoint, env })));
    if (checks.every(({ state }) => state !== "fail")) {
      const identityFile = join(settings.workDir, "identity.json");
      checks.push(
        ...(await checkService({ endpoint: settings.endpoint, env, identityFile, version: packageJson.version, now })),
      );
    }
    checks.push(await checkSecrets({ settings, env, scopes }));
    const folder = await checkWorkDir(settings);
    const sandbox = folder.state === "fail" ? { checks: [] } : await checkSandbox(settings, env);
    checks.push(folder, ...(await checkCapabilities(env, sandbox)), ...sandbox.checks);
  }
  const broken = checks.find(({ state }) => state === "fail");
  for (const layer of LAYERS)
    if (!checks.some((check) => check.layer === layer))
      checks.push(skipped(layer, `not looked at: ${broken?.layer} comes first`));
  return checks.sort((a, b) => LAYERS.indexOf(a.layer) - LAYERS.indexOf(b.layer));
}

interface Read {
  env: NodeJS.ProcessEnv;
  settings: Settings;
  path: string | undefined;
  scopes: Sources["scopes"];
}

function settingsOf(given: NodeJS.ProcessEnv): string | Read {
  const config = readConfig(given);
  if (config.kind !== "done") return config.message;
  const env = withProxy(config.value.env);
  const settings = readSettings(env);
  if (settings.kind !== "done") return settings.message;
  const sources = readSources(config.value.sources);
  return sources.kind === "done"
    ? { env, settings: settings.value, path: config.value.path, scopes: sources.value.scopes }
    : `${config.value.path}: ${sources.message}`;
}
