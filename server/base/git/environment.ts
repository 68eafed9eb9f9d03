export type GitConfig = readonly (readonly [key: string, value: string])[];

// Nothing that a repository or a machine brings is executed, and nothing runs that was not asked for.
const HARDENED: GitConfig = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["credential.helper", ""],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["submodule.recurse", "false"],
  // A server that sends less than 1 kB a second for half a minute has stopped.
  ["http.lowSpeedLimit", "1000"],
  ["http.lowSpeedTime", "30"],
];

/**
 * The environment of every git that the project runs: no configuration but ours, no hooks, no prompts, only the
 * protocols of the policy. Configuration goes by variables, so it is in no list of processes and in no file.
 */
export function gitEnvironment(config: GitConfig = [], { local = false } = {}): Record<string, string> {
  const all = [...HARDENED, ...config];
  const env: Record<string, string> = {
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    GIT_ALLOW_PROTOCOL: local ? "https:http:ssh:file" : "https:http:ssh",
    GIT_CONFIG_COUNT: String(all.length),
  };
  for (const [i, [key, value]] of all.entries()) {
    env[`GIT_CONFIG_KEY_${i}`] = key;
    env[`GIT_CONFIG_VALUE_${i}`] = value;
  }
  return env;
}
