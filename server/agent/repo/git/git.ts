import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GitConfig, gitEnvironment } from "../../../base/git/environment.ts";
import { type GitRefusal, gitRefusal } from "../../../base/git/refusal.ts";
import { again, done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { RUN_REASONS, run } from "../../../base/process/run.ts";
import { signsIn, withToken } from "../auth/authorization.ts";
import { pinned } from "../auth/pinned.ts";
import { redirected } from "../auth/redirect.ts";
import { tokens } from "../auth/tokens.ts";
import { REPO, type RepoAccess } from "../types.ts";
import { isSsh, redactUrl } from "../url.ts";

// A command that talks to a remote; fetching a large repository for the first time takes minutes.
export const LS_DEADLINE_MS = 20_000;
export const FETCH_DEADLINE_MS = 180_000;

// Git keeps all references a server names in memory, some 400 bytes each: beside the program's own 100 MiB this is enough for half a
// million of them. A fetch maps packs too.
const LS_MEMORY_KIB = 393_216;
const FETCH_MEMORY_KIB = 8_388_608;
// The words are arguments of their own: nothing a user wrote is read as a command.
const LIMITED = 'ulimit -v "$0" 2>/dev/null; exec git "$@"';

const CONFIG: GitConfig = [
  // A pack is there at once; single objects come one by one, and a commit would be found before its folders.
  ["fetch.unpackLimit", "1"],
  // A redirect is followed by us, after a look at where it leads.
  ["http.followRedirects", "false"],
  ["protocol.version", "2"],
  // The mirror belongs to this program's user, also when a volume is mounted with another owner.
  ["safe.directory", "*"],
];

/** Of every git of this room. The repository's own configuration is written by us, so nothing a remote sends is ever executed. */
export const gitEnv = (local = false, config: GitConfig = []): Record<string, string> => ({
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  HOME: "/nonexistent",
  GIT_NO_LAZY_FETCH: "1",
  ...gitEnvironment([...CONFIG, ...config], { local }),
});

/** One git command without a remote. */
export async function git(
  cwd: string,
  args: string[],
  options: { maxBytes?: number; deadlineMs?: number } = {},
): Promise<Outcome<string>> {
  const ran = await run("git", { args, cwd, env: gitEnv(), deadlineMs: 60_000, maxBytes: 32_000_000, ...options });
  if (ran.kind !== "done") return ran.reason === RUN_REASONS.missing ? stop(REPO.tool, "git is not installed") : ran;
  if (ran.value.code !== 0)
    return again(REPO.unreachable, `git ${args[0]}: ${redactUrl(ran.value.stderr.trim().slice(0, 500))}`);
  return done(ran.value.stdout.toString("utf8"));
}

/** One git command against a remote, with its credentials in files of a private folder that lives as long as the command. */
export async function gitRemote(repo: RepoAccess, options: RemoteOptions, moved = false): Promise<Outcome<string>> {
  const signedIn = await withToken(repo);
  if (signedIn.kind !== "done") return signedIn;
  const said = await gitWith(signedIn.value, repo, options, moved);
  // The app may have been installed again, or given a role: after a refusal the next try uses a new token.
  if (said.kind !== "done" && said.reason === REPO.authentication)
    tokens.refused(signedIn.value.password ?? signedIn.value.bearerToken);
  return said;
}

interface RemoteOptions {
  args: string[];
  cwd: string;
  deadlineMs: number;
  maxBytes: number;
  allowLocal?: boolean;
}

async function gitWith(
  signedIn: RepoAccess,
  repo: RepoAccess,
  options: RemoteOptions,
  moved: boolean,
): Promise<Outcome<string>> {
  const pin = await pinned(repo);
  if (pin.kind !== "done") return pin;
  const folder = await mkdtemp(join(tmpdir(), "outpost-git-"));
  try {
    const env = {
      ...gitEnv(options.allowLocal, pin.value.config),
      ...(await credentials(signedIn, folder, pin.value.ssh)),
    };
    const memory = options.args[0] === "ls-remote" ? LS_MEMORY_KIB : FETCH_MEMORY_KIB;
    const ran = await run("/bin/sh", { ...options, args: ["-c", LIMITED, String(memory), ...options.args], env });
    if (ran.kind !== "done") {
      if (ran.reason === RUN_REASONS.deadline)
        return again(REPO.unreachable, `${redactUrl(repo.url)} did not answer in time`);
      return ran.reason === RUN_REASONS.output
        ? stop(REPO.tooLarge, `${redactUrl(repo.url)} sent more than is accepted`)
        : ran;
    }
    if (ran.value.code === 0) return done(ran.value.stdout.toString("utf8"));
    if (ran.value.code === 127) return stop(REPO.tool, "git is not installed");
    if (/^fatal: Out of memory/m.test(ran.value.stderr))
      return stop(REPO.tooLarge, `${redactUrl(repo.url)} sent more than git may hold in memory`);
    if (moved || isSsh(repo.url) || !/returned error: 30[12378]\b/.test(ran.value.stderr))
      return explain(ran.value.stderr, repo);
    const to = await redirected(repo);
    if (to.kind !== "done") return to;
    const args = options.args.map((arg) => (arg === repo.url ? to.value.url : arg));
    return await gitRemote(to.value, { ...options, args }, true);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Files are readable by this user alone; in an argument or a variable a secret would be seen by every listing of processes. */
async function credentials(repo: RepoAccess, folder: string, pin: string[]): Promise<Record<string, string>> {
  const env: Record<string, string> = {};
  const file = async (name: string, content: string) => {
    const path = join(folder, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };
  if (repo.proxy)
    Object.assign(env, {
      HTTPS_PROXY: repo.proxy,
      HTTP_PROXY: repo.proxy,
      https_proxy: repo.proxy,
      http_proxy: repo.proxy,
    });
  else
    for (const name of ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"])
      copy(env, name);
  if (repo.noProxy) env.NO_PROXY = env.no_proxy = repo.noProxy;
  if (isSsh(repo.url)) {
    const options = [
      ...pin,
      "-F",
      "/dev/null",
      "-o",
      "BatchMode=yes",
      "-o",
      "ConnectTimeout=10",
      "-o",
      "GlobalKnownHostsFile=/dev/null",
    ];
    options.push("-o", `UserKnownHostsFile=${await file("known_hosts", repo.knownHosts ?? "")}`);
    options.push("-o", `StrictHostKeyChecking=${repo.insecureIgnoreHostKey || repo.insecure ? "no" : "yes"}`);
    if (repo.sshPrivateKey) {
      // ssh refuses a key whose last line does not end.
      options.push("-i", await file("key", `${repo.sshPrivateKey.reveal().trim()}\n`), "-o", "IdentitiesOnly=yes");
    }
    // Every word is ours or an address (mkdtemp's path has no blanks): git hands this variable to a shell.
    env.GIT_SSH_COMMAND = `ssh ${options.join(" ")}`;
    env.GIT_SSH_VARIANT = "ssh";
    return env;
  }
  if (repo.ca) env.GIT_SSL_CAINFO = await file("ca.pem", repo.ca);
  if (repo.insecure) env.GIT_SSL_NO_VERIFY = "true";
  if (repo.tlsClientCertData && repo.tlsClientCertKey) {
    env.GIT_SSL_CERT = await file("client.pem", repo.tlsClientCertData);
    env.GIT_SSL_KEY = await file("client.key", repo.tlsClientCertKey.reveal());
  }
  // Credentials that are sent unasked go to the repository's own origin only. A token with a quote or a line's end could say more to git than it is.
  const { bearerToken, forceHttpBasicAuth, password } = repo;
  if (bearerToken || (forceHttpBasicAuth && password)) {
    const authorization = bearerToken
      ? `Bearer ${bearerToken.reveal().replace(/[^\x21-\x7e]|["\\]/g, "")}`
      : `Basic ${Buffer.from(`${repo.username || "x-access-token"}:${password!.reveal()}`).toString("base64")}`;
    env.GIT_CONFIG_GLOBAL = await file(
      "config",
      `[http "${new URL(repo.url).origin}/"]\n\textraHeader = "Authorization: ${authorization}"\n`,
    );
    return env;
  }
  if (repo.password || repo.username) {
    await file("username", repo.username || "x-access-token");
    await file("password", repo.password?.reveal() ?? "");
    await file("host", new URL(repo.url).host);
    env.GIT_ASKPASS = await file("askpass", ASKPASS);
    await chmod(env.GIT_ASKPASS, 0o700);
  }
  return env;
}

// git asks `Username for 'https://host': ` and `Password for 'https://user@host': `. Only the repository's own host gets an
// answer: after a redirect git would ask for another one's.
const ASKPASS = `#!/bin/sh
here=\${0%/*}
host=$(cat "$here/host")
case "$1" in
  *"://$host'"* | *"@$host'"*) ;;
  *) exit 1 ;;
esac
case "$1" in
  Username*) exec cat "$here/username" ;;
  Password*) exec cat "$here/password" ;;
esac
exit 1
`;

function copy(env: Record<string, string>, name: string): void {
  const value = process.env[name];
  if (value) env[name] = value;
}

const ANSWERS: Record<GitRefusal, (url: string, repo: RepoAccess) => Failure> = {
  hostKey: (url) =>
    stop(REPO.hostKey, `the host key of ${url} is not among the known hosts; add it to argocd-ssh-known-hosts-cm`),
  certificate: (url) =>
    again(
      REPO.certificate,
      `TLS with ${url} failed: its certificate is not trusted, or it wants one of us; add its CA to argocd-tls-certs-cm`,
    ),
  sshKey: denied,
  login: denied,
  notFound: (url) => stop(REPO.notFound, `there is no repository at ${url}, or its credentials do not allow to see it`),
  host: (url) => again(REPO.host, `the host of ${url} has no address; look at its spelling and at DNS`),
  connection: (url) => again(REPO.connection, `nothing listens at ${url}; look at its port`),
  notGit: (url) => stop(REPO.notRepository, `${url} answers, but is not a Git repository; look at its path`),
  revision: (url) => stop(REPO.revision, `${url} does not have this commit any more`),
};

function denied(url: string, repo: RepoAccess): Failure {
  const has = signsIn(repo);
  return stop(
    REPO.authentication,
    has
      ? `${url} does not accept the credentials given for it`
      : `${url} asks for credentials and none are given for it`,
  );
}

function explain(stderr: string, repo: RepoAccess): Failure {
  const url = redactUrl(repo.url);
  const refusal = gitRefusal(stderr);
  if (refusal) return ANSWERS[refusal](url, repo);
  // The last lines carry the reason; progress and warnings come before.
  const reason = redactUrl(stderr.trim().split("\n").slice(-2).join("; ")).slice(0, 400);
  return again(REPO.unreachable, `${url} cannot be reached: ${reason || "git failed without a word"}`);
}

/** Makes an empty bare repository unless there is one. */
export async function initBare(folder: string): Promise<Outcome<string>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return git(folder, ["init", "--bare", "--quiet", "--template=", "."]);
}
