import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BareRepository } from "./git-repo.ts";
import { run } from "./run.ts";

export interface Signing {
  /** As if it were done then: `20200101T000000`. */
  at?: string;
  /** When the signature ends: `20200201T000000`. */
  expires?: string;
  /** Something that is changed after it was signed. */
  tamper?: (text: string) => string;
}

/** Keys made by gpg itself, and commits and tags signed with them as git and its hosts do. */
export interface Gpg {
  /** A new key, its fingerprint. `expires` as gpg has it: `2d`, `0` for never. */
  key(name: string, options?: { at?: string; expires?: string }): Promise<string>;
  /** A key below it that signs, its fingerprint. */
  subkey(key: string): Promise<string>;
  /** Takes it out of force for ever. */
  revoke(key: string): Promise<void>;
  armoured(key: string): Promise<string>;
  /** Signs the tip of a branch again and moves the branch to it; returns the new commit. */
  signTip(repository: BareRepository, key: string, options?: Signing & { branch?: string }): Promise<string>;
  /** An annotated tag, signed. */
  signTag(repository: BareRepository, key: string, tag: string, target: string, options?: Signing): Promise<void>;
  stop(): Promise<void>;
}

export async function startGpg(): Promise<Gpg> {
  // A socket's path has room for 108 bytes.
  const home = await mkdtemp(join(tmpdir(), "gpg-"));
  const env = { PATH: process.env.PATH, GNUPGHOME: home, LC_ALL: "C" };
  const gpg = async (args: string[], input?: string | Uint8Array) =>
    (
      await run("gpg", ["--batch", "--quiet", "--no-tty", "--passphrase", "", "--pinentry-mode", "loopback", ...args], {
        env,
        input,
      })
    ).stdout;
  const faked = (at?: string) => (at ? ["--faked-system-time", `${at}!`] : []);

  const sign = async (payload: string, key: string, { at, expires }: Signing): Promise<string> => {
    const file = join(home, `payload-${createHash("sha256").update(payload).digest("hex").slice(0, 16)}`);
    await writeFile(file, payload, "latin1");
    const ends = expires ? ["--default-sig-expire", expires] : [];
    return gpg([...faked(at), ...ends, "--local-user", `${key}!`, "--armor", "--output", "-", "--detach-sign", file]);
  };
  const store = async (repository: BareRepository, type: string, content: string): Promise<string> => {
    const file = join(home, "object");
    await writeFile(file, content, "latin1");
    return repository.git("hash-object", "-t", type, "-w", file);
  };

  return {
    key: async (name, { at, expires = "0" } = {}) => {
      const who = `${name} <${name}@example.com>`;
      await gpg([...faked(at), "--quick-gen-key", who, "ed25519", "sign", expires]);
      const listed = await gpg(["--with-colons", "--list-keys", `=${who}`]);
      return /^fpr:+([0-9A-F]+):/m.exec(listed)![1]!;
    },
    subkey: async (key) => {
      await gpg(["--quick-add-key", key, "ed25519", "sign", "0"]);
      const listed = await gpg(["--with-colons", "--list-keys", key]);
      return [...listed.matchAll(/^fpr:+([0-9A-F]+):/gm)].at(-1)![1]!;
    },
    revoke: async (key) => {
      const folder = join(home, "openpgp-revocs.d");
      const file = (await readdir(folder)).find((name) => name.startsWith(key))!;
      // gpg puts a colon in front, so that it is not imported by mistake.
      const text = (await readFile(join(folder, file), "utf8")).replace(/^:-----BEGIN/m, "-----BEGIN");
      await gpg(["--import"], text);
    },
    armoured: (key) => gpg(["--armor", "--export", key]),
    signTip: async (repository, key, options = {}) => {
      const ref = `refs/heads/${options.branch ?? "main"}`;
      const payload = `${(await run("git", ["cat-file", "commit", ref], { cwd: repository.dir })).stdout}`;
      const signature = await sign(payload, key, options);
      const header = `gpgsig ${signature.trimEnd().replaceAll("\n", "\n ")}\n`;
      const at = payload.indexOf("\n\n") + 1;
      const signed = `${payload.slice(0, at)}${header}${payload.slice(at)}`;
      const commit = await store(repository, "commit", options.tamper ? options.tamper(signed) : signed);
      await repository.git("update-ref", ref, commit);
      return commit;
    },
    signTag: async (repository, key, tag, target, options = {}) => {
      const payload = `object ${target}\ntype commit\ntag ${tag}\ntagger Test <test@example.com> 1700000000 +0000\n\na release\n`;
      const signed = `${payload}${await sign(payload, key, options)}`;
      const object = await store(repository, "tag", options.tamper ? options.tamper(signed) : signed);
      await repository.git("update-ref", `refs/tags/${tag}`, object);
    },
    stop: async () => {
      await run("gpgconf", ["--kill", "all"], { env });
      await rm(home, { recursive: true, force: true });
    },
  };
}
