import { mkdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { Schemas } from "../../../openapi/client.ts";
import { validateTaskParamsGitClone } from "../../../openapi/contract/validators.js";
import { run } from "../../base/run.ts";
import { type Context, failed, type Kind, type KindResult } from "./kind.ts";

/**
 * Configuration of every git: nobody's own, no hooks, no prompts, no other protocols; what a repository contains is written to files and
 * never run.
 */
const CONFIG: [string, string][] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["credential.helper", ""],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["http.followRedirects", "initial"],
  ["http.lowSpeedLimit", "1000"],
  ["http.lowSpeedTime", "30"],
  ["advice.detachedHead", "false"],
  ["init.defaultBranch", "main"],
];

/** Clones a repository over http(s) or ssh and checks a revision out: a branch, a tag or a commit. */
export const gitClone: Kind<Schemas["TaskParamsGitClone"]> = {
  validate: validateTaskParamsGitClone,

  async lacks(env) {
    const path = env.PATH || ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);
    const ran = await run("git", { args: ["--version"], cwd: "/", env: { PATH: path }, deadlineMs: 10_000, maxBytes: 4_096 });
    return ran.kind === "done" && ran.value.code === 0 ? undefined : "git is not installed";
  },

  async run({ url, revision = "", depth }, context) {
    const cwd = join(context.workspace.work, "repository");
    await mkdir(cwd);
    const git = gitIn(context, cwd);
    const shallow = depth === undefined ? [] : [`--depth=${depth}`];
    const all = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*", "+HEAD:refs/remotes/origin/HEAD"];
    // A part of the history can only be asked for by what is wanted; the server may know an abbreviated commit only with all of it.
    const wanted = revision || "HEAD";
    if ((await git.run("init", "--quiet")) !== 0) return failed("GitFailed", "git could not make a repository in the workspace");
    const fetched = await git.run("fetch", "--quiet", "--no-tags", ...shallow, "--", url, ...(depth === undefined ? all : [wanted]));
    if (fetched !== 0) return fetchFailed(url, depth === undefined ? undefined : revision, fetched);
    const names = depth === undefined ? [`refs/remotes/origin/${wanted}`, `refs/tags/${wanted}`, wanted] : ["FETCH_HEAD"];
    const commit = await first(names, (name) => git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`));
    if (!commit) return failed("RevisionNotFound", `${url} has no branch, tag or commit ${JSON.stringify(wanted)}`);
    if ((await git.run("checkout", "--quiet", "--force", "--detach", commit)) !== 0)
      return failed("GitFailed", `git could not check out ${commit}; the log says why`);
    await context.write("system", `${url} at ${commit}`);
    return { outcome: "succeeded", outputs: { commit, path: cwd } };
  },
};

function fetchFailed(url: string, revision: string | undefined, code: number): KindResult {
  const part = revision ? ` at ${JSON.stringify(revision)} (with \`depth\` it must be a branch, a tag or a whole commit id)` : "";
  return failed("FetchFailed", `git could not fetch ${url}${part}: it exited with ${code}; the log says why`);
}

function gitIn(context: Context, cwd: string) {
  const env: Record<string, string> = {
    ...context.env,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    GIT_ALLOW_PROTOCOL: "https:http:ssh",
    GIT_SSH_COMMAND: "ssh -o BatchMode=yes -o ConnectTimeout=10",
    GIT_CONFIG_COUNT: String(CONFIG.length),
  };
  CONFIG.forEach(([key, value], i) => {
    env[`GIT_CONFIG_KEY_${i}`] = key;
    env[`GIT_CONFIG_VALUE_${i}`] = value;
  });
  return {
    /** The exit code; a git that could not run at all counts as 127. */
    run: async (...args: string[]) => {
      const ran = await context.run("git", args, { cwd, env });
      return ran.kind === "done" ? ran.value : 127;
    },
    ask: async (...args: string[]) => {
      const asked = await context.ask("git", args, { cwd, env });
      return asked.kind === "done" ? asked.value.trim() : "";
    },
  };
}

async function first(names: readonly string[], look: (name: string) => Promise<string>): Promise<string> {
  for (const name of names) {
    const found = await look(name);
    if (found) return found;
  }
  return "";
}
