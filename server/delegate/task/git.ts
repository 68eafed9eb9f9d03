import { isIP } from "node:net";
import { join } from "node:path";
import type { Schemas } from "../../../openapi/client.ts";
import { isMetadata, safeAddresses } from "../../base/cloud/address.ts";
import { type GitConfig, gitEnvironment } from "../../base/git/environment.ts";
import { type GitRefusal, gitRefusal } from "../../base/git/refusal.ts";
import { done, type Failure, type Outcome, stop } from "../../base/outcome.ts";
import type { TaskContext } from "../kind.ts";
import { makeTaskFolder, putTaskFile } from "./task-files.ts";

// What a repository contains is written to files and never run.
const CONFIG: GitConfig = [
  ["http.followRedirects", "initial"],
  ["advice.detachedHead", "false"],
  ["init.defaultBranch", "main"],
];

export type GitAccess = Pick<Schemas["TaskParamsGitClone"], "url" | "username" | "password" | "sshKey" | "knownHosts">;

export interface Git {
  /** The exit code; a git that could not run at all counts as 127. */
  run(...args: string[]): Promise<number>;
  /** Its answer without the white space around; empty when it failed. */
  ask(...args: string[]): Promise<string>;
  /** The error output of the last failed command, in one line. */
  why(): string;
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** A git that works in one folder with the given access, and with no other. Credentials are in files of the workspace, and only for their host. */
export async function makeGit(context: TaskContext, cwd: string, access?: GitAccess): Promise<Outcome<Git>> {
  const config = [...CONFIG];
  let ssh = "ssh -o BatchMode=yes -o ConnectTimeout=10";
  if (access && context.delegate.env.OUTPOST_ALLOW_METADATA !== "true") {
    const pin = await pinFor(access.url);
    if (pin.kind !== "done") return pin;
    config.push(...pin.value);
  }
  const folder = join(context.workspace.dir, `git-${++made}`);
  if (access?.username !== undefined || access?.password !== undefined) {
    const login = await loginFor(context.workspace.dir, folder, access);
    if (login.kind !== "done") return login;
    config.push(login.value);
  }
  if (access?.sshKey !== undefined || access?.knownHosts !== undefined)
    ssh = await sshFor(context.workspace.dir, folder, access);
  const env = { ...context.env, ...gitEnvironment(config), GIT_SSH_COMMAND: ssh };
  let said: string[] = [];
  const seen = (stream: string, line: string) => {
    if (stream === "stderr" && line.trim()) said = [...said.slice(-7), line.trim()];
  };
  return done({
    run: async (...args: string[]) => {
      said = [];
      const ran = await context.run("git", args, { cwd, env, seen });
      return ran.kind === "done" ? ran.value : 127;
    },
    ask: async (...args: string[]) => {
      const asked = await context.ask("git", args, { cwd, env });
      return asked.kind === "done" ? asked.value.trim() : "";
    },
    why: () => explain(said, access),
  });
}

/** Git gets the addresses that were checked, as a name may resolve to others the next time. A name unknown here may be known to a proxy. */
async function pinFor(url: string): Promise<Outcome<[string, string][]>> {
  const whole = url.includes("://") ? url : `ssh://${url.replace(/:.*/, "")}`;
  if (!URL.canParse(whole))
    return stop(
      "ParamsInvalid",
      "`url` is not an address: it is https://host/path, ssh://user@host/path or user@host:path",
    );
  const { hostname, port, protocol } = new URL(whole);
  const addresses = await safeAddresses(hostname, isMetadata);
  if (isMetadata(hostname) || addresses?.length === 0)
    return stop("AddressRefused", `${hostname} is where a cloud gives a machine its credentials; tasks may not ask it`);
  if (!addresses || !/^https?:$/.test(protocol) || isIP(hostname.replace(/^\[|\]$/g, ""))) return done([]);
  const all = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(",");
  return done([["http.curloptResolve", `${hostname}:${port || (protocol === "https:" ? 443 : 80)}:${all}`]]);
}

// A name for each: one task may use several repositories.
let made = 0;

/** git asks a helper for the address's host only; its answer is in a file, so that it is in no list of processes. */
async function loginFor(
  workspace: string,
  folder: string,
  { url, username = "", password = "" }: GitAccess,
): Promise<Outcome<[string, string]>> {
  if (!/^https?:/.test(url))
    return stop("ParamsInvalid", "`username` and `password` are for http(s) addresses; with SSH give `sshKey`");
  if (/[\r\n\0]/.test(username + password))
    return stop(
      "ParamsInvalid",
      "the user name or password holds a line break, which git cannot send; take it out of the secret",
    );
  const helper = join(folder, "helper");
  await putTaskFile(workspace, join(folder, "login"), `username=${username || "git"}\npassword=${password}\n`);
  await putTaskFile(
    workspace,
    helper,
    `#!/bin/sh\n[ "$1" = get ] && exec cat -- ${quoted(join(folder, "login"))}\nexit 0\n`,
    0o700,
  );
  return done([`credential.${new URL(url).origin}.helper`, `!${quoted(helper)}`]);
}

async function sshFor(workspace: string, folder: string, { sshKey, knownHosts }: GitAccess): Promise<string> {
  const file = (name: string) => `"${join(folder, name).replaceAll("%", "%%")}"`;
  const config = ["BatchMode yes", "ConnectTimeout 10", "StrictHostKeyChecking yes", "UpdateHostKeys no"];
  if (sshKey !== undefined) {
    await putTaskFile(workspace, join(folder, "key"), sshKey.endsWith("\n") ? sshKey : `${sshKey}\n`);
    config.push(`IdentityFile ${file("key")}`, "IdentitiesOnly yes", "IdentityAgent none", "PasswordAuthentication no");
  }
  if (knownHosts !== undefined) {
    await putTaskFile(workspace, join(folder, "known_hosts"), `${knownHosts}\n`);
    config.push(`UserKnownHostsFile ${file("known_hosts")}`, "GlobalKnownHostsFile none");
  }
  await putTaskFile(workspace, join(folder, "ssh_config"), `${config.join("\n")}\n`);
  return `ssh -F ${quoted(join(folder, "ssh_config"))}`;
}

const HINTS: Partial<Record<GitRefusal, string>> = {
  login: "the host rejects this login: check `username` and `password`, or give them",
  hostKey: "the host's key is not known: put its line, checked by another way, into `knownHosts`",
  sshKey: "the host rejects this SSH key: check `sshKey`, and that its public half may read the repository",
  host: "the name cannot be resolved: check the address and the delegate's DNS",
  connection: "there is no connection: check the address, firewalls and the proxy",
  notFound: "there is no such repository, or this login may not see it",
  certificate: "its certificate is not trusted: name the CA's file in OUTPOST_CA_FILE of the delegate",
};

function explain(said: string[], access: GitAccess | undefined): string {
  const text = said.join("\n");
  const refusal = gitRefusal(text);
  const hint = refusal && HINTS[refusal];
  const last =
    said.filter((line) => /^(fatal|error|remote|ssh|Host key|git@|.*Permission denied)/.test(line)).at(0) ??
    said.at(-1) ??
    "";
  const key =
    access?.sshKey && /error in libcrypto|invalid format/.test(text)
      ? "`sshKey` is not a private key that SSH reads (an OpenSSH or PEM key without a passphrase)"
      : undefined;
  return [last, key ?? hint].filter(Boolean).join("; ") || "the log says why";
}

export interface Cloned {
  commit: string;
  path: string;
}

/** Fetches a repository into a new folder and checks a revision out: a branch, a tag or a commit. */
export async function cloneGit(
  params: Schemas["TaskParamsGitClone"],
  cwd: string,
  context: TaskContext,
): Promise<Outcome<Cloned>> {
  const { url, revision = "", depth } = params;
  await makeTaskFolder(context.workspace.dir, cwd, 0o755);
  const git = await makeGit(context, cwd, params);
  if (git.kind !== "done") return git;
  const { run, ask, why } = git.value;
  const shallow = depth === undefined ? [] : [`--depth=${depth}`];
  const all = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*", "+HEAD:refs/remotes/origin/HEAD"];
  // A shallow fetch must name what it wants; the server may know an abbreviated commit only with all of it.
  const wanted = revision || "HEAD";
  if ((await run("init", "--quiet")) !== 0)
    return stop("GitFailed", `git could not make a repository in the workspace: ${why()}`);
  const fetched = await run(
    "fetch",
    "--quiet",
    "--no-tags",
    ...shallow,
    "--",
    url,
    ...(depth === undefined ? all : [wanted]),
  );
  if (fetched !== 0) return fetchFailed(url, depth === undefined ? undefined : revision, why());
  const names = depth === undefined ? [`refs/remotes/origin/${wanted}`, `refs/tags/${wanted}`, wanted] : ["FETCH_HEAD"];
  let commit = "";
  for (const name of names)
    commit ||= await ask("rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`);
  if (!commit) return stop("RevisionNotFound", `${url} has no branch, tag or commit ${JSON.stringify(wanted)}`);
  if ((await run("checkout", "--quiet", "--force", "--detach", commit)) !== 0)
    return stop("GitFailed", `git could not check out ${commit}: ${why()}`);
  await context.write("system", `${url} at ${commit}`);
  return done({ commit, path: cwd });
}

function fetchFailed(url: string, revision: string | undefined, why: string): Failure {
  const part = revision
    ? ` at ${JSON.stringify(revision)} (with \`depth\` it must be a branch, a tag or a whole commit id)`
    : "";
  return stop("FetchFailed", `git could not fetch ${url}${part}: ${why}`);
}
