import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { accepts, daemon, freePort, ready, run } from "./run.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** A key as repositories' credentials have it: the private half in OpenSSH's PEM. */
export interface SshKey {
  privateKey: string;
  publicKey: string;
}

/** The repositories of a folder over SSH, with OpenSSH's own sshd. Needs root. */
export interface GitSshServer {
  readonly port: number;
  /** `ssh://git@HOST:PORT/NAME.git` */
  cloneUrl(name: string, host?: string): string;
  /** A line for known_hosts; the host as the client will call it. */
  knownHosts(host?: string): string;
  /** Makes a key that may use these repositories, or all when none is named. */
  addKey(...repositories: string[]): Promise<SshKey>;
  removeKey(key: Pick<SshKey, "publicKey">): void;
  stop(): Promise<void>;
}

export interface GitSshOptions {
  /** Folder with the bare repositories: `root` of a `GitServer`. */
  root: string;
  /** The program, and where its libraries are if it is not installed. */
  sshd?: string;
  libraries?: string[];
}

// sshd insists on a user of its own and on /run/sshd. It gets both in a mount namespace, so the machine needs neither; the
// process namespace makes sure that open sessions end with it.
const START =
  'mount --bind "$1/passwd" /etc/passwd && mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$2" -D -e -f "$1/sshd_config"';

/** Starts sshd on a free port of loopback with a new host key. */
export async function startGitSsh({
  root,
  sshd = "/usr/sbin/sshd",
  libraries = [],
}: GitSshOptions): Promise<GitSshServer> {
  const dir = await mkdtemp(join(tmpdir(), "git-ssh-"));
  try {
    const port = await freePort();
    const host = await makeKey(dir, "host");
    await writeFile(join(dir, "passwd"), users(readFileSync("/etc/passwd", "utf8"), process.getuid?.() ?? 0));
    await writeFile(join(dir, "sshd_config"), config(dir, port));
    await writeFile(join(dir, "authorized_keys"), "", { mode: 0o600 });
    const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(":") };
    const spaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    const server = daemon("unshare", [...spaces, "--", "sh", "-c", START, "sh", dir, sshd], { env });
    await ready("sshd", server, () => accepts({ port }));
    const keys = new Map<string, string>();
    const write = () => writeFileSync(join(dir, "authorized_keys"), [...keys.values()].join(""), { mode: 0o600 });
    return {
      port,
      cloneUrl: (name, at = "127.0.0.1") => `ssh://git@${at}:${port}/${name}.git`,
      knownHosts: (at = "127.0.0.1") => `[${at}]:${port} ${host.publicKey.split(" ").slice(0, 2).join(" ")}\n`,
      addKey: async (...repositories) => {
        const key = await makeKey(dir, `key${keys.size}-${Date.now()}`);
        keys.set(key.publicKey, keyLine(key.publicKey, join(here, "git-ssh.sh"), [root, ...repositories]));
        write();
        return key;
      },
      removeKey: ({ publicKey }) => {
        keys.delete(publicKey);
        write();
      },
      stop: async () => {
        // unshare passes nothing on but its own death.
        await server.stop("SIGKILL");
        await rm(dir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

async function makeKey(dir: string, name: string): Promise<SshKey> {
  const file = join(dir, name);
  await mkdir(dir, { recursive: true });
  await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file]);
  chmodSync(file, 0o600);
  return { privateKey: await readFile(file, "utf8"), publicKey: (await readFile(`${file}.pub`, "utf8")).trim() };
}

const config = (dir: string, port: number) => `ListenAddress 127.0.0.1:${port}
HostKey ${dir}/host
AuthorizedKeysFile ${dir}/authorized_keys
AuthenticationMethods publickey
PermitRootLogin forced-commands-only
StrictModes no
UsePAM no
UseDNS no
PidFile none
PrintMotd no
LogLevel VERBOSE
`;

/** A line of authorized_keys which runs one command and nothing else. */
export function keyLine(publicKey: string, script: string, args: string[]): string {
  const bad = [script, ...args].find((word) => !/^[A-Za-z0-9._/-]+$/.test(word));
  if (bad !== undefined) throw new Error(`${bad} cannot be part of a forced command`);
  return `restrict,command="sh ${[script, ...args].join(" ")}" ${publicKey}\n`;
}

/** The machine's users, and the two that sshd needs: its own, and `git`, which is the owner of the repositories. */
export function users(passwd: string, uid: number): string {
  const others = passwd.split("\n").filter((row) => row && !/^(git|sshd):/.test(row));
  return [...others, "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin", `git:*:${uid}:${uid}::/:/bin/sh`, ""].join(
    "\n",
  );
}
