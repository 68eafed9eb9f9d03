import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { digest } from "../../../base/json/canonical.ts";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { run } from "../../../base/process/run.ts";
import { type Keyring, REPO, type SignatureState } from "../types.ts";

export interface Verdict {
  state: SignatureState;
  /** The owner as the key says, or the key's id. */
  signer?: string;
  /** Fingerprints of the key that signed and of the key it belongs to. */
  keys: string[];
}

/** Bytes that were signed, and the signature over them. */
export interface Signed {
  payload: Buffer;
  signature: string;
}

const DEADLINE_MS = 20_000;
const MAX_SIGNATURE = 64_000;
const MAX_KEYS = 1_000;
const MAX_HOMES = 20;
// No agent that stays running, no network, no configuration of users.
const OPTIONS = [
  "--no-options",
  "--batch",
  "--no-tty",
  "--no-autostart",
  "--disable-dirmngr",
  "--no-auto-key-retrieve",
];
const NONE: Verdict = { state: "None", keys: [] };

/** The signature of a commit: its header `gpgsig`, over all the rest. Undefined when there is none. */
export function signedCommit(content: Buffer): Signed | undefined {
  const text = content.toString("latin1");
  const end = text.indexOf("\n\n");
  const [head, body] = end < 0 ? [text, ""] : [text.slice(0, end), text.slice(end)];
  const kept: string[] = [];
  const signatures: string[] = [];
  let inside = "";
  for (const line of head.split("\n")) {
    if (line.startsWith(" ") && inside) {
      if (inside === "gpgsig") signatures[signatures.length - 1] += `${line.slice(1)}\n`;
      continue;
    }
    inside = /^(gpgsig|gpgsig-sha256) /.exec(line)?.[1] ?? "";
    if (inside === "gpgsig") signatures.push(`${line.slice("gpgsig ".length)}\n`);
    if (!inside) kept.push(line);
  }
  if (signatures.length === 0) return undefined;
  // With two headers it is not clear which one counts: together they are no signature.
  return { payload: Buffer.from(kept.join("\n") + body, "latin1"), signature: signatures.join("") };
}

/** The signature of an annotated tag: at its end, over all that comes before. */
export function signedTag(content: Buffer): Signed | undefined {
  const text = content.toString("latin1");
  const at = text.lastIndexOf("\n-----BEGIN PGP SIGNATURE-----\n");
  return at < 0 ? undefined : { payload: Buffer.from(text.slice(0, at + 1), "latin1"), signature: text.slice(at + 1) };
}

/** Judges signatures by gpg itself, with a private folder for each set of keys. */
export class Verifier {
  readonly #folder: string;
  readonly #homes = new Map<string, Promise<Outcome<string>>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async verify(signed: Signed | undefined, keyring: Keyring): Promise<Outcome<Verdict>> {
    if (!signed || !/^-----BEGIN PGP SIGNATURE-----\r?\n/.test(signed.signature)) return done(NONE);
    const { payload, signature } = signed;
    if (signature.length > MAX_SIGNATURE || signature.split("-----BEGIN").length > 2)
      return done({ state: "Bad", keys: [] });
    const home = await this.#home(keyring);
    if (home.kind !== "done") return home;
    const work = await mkdtemp(join(home.value, "sig-"));
    try {
      const file = join(work, "signature");
      await writeFile(file, signature, { encoding: "latin1", mode: 0o600 });
      const args = [
        "--trust-model",
        "always",
        "--no-auto-check-trustdb",
        "--status-fd",
        "1",
        "--verify",
        "--",
        file,
        "-",
      ];
      const ran = await this.#gpg(home.value, args, payload);
      return ran.kind === "done" ? done(judge(ran.value)) : ran;
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }

  #home(keyring: Keyring): Promise<Outcome<string>> {
    const id = digest(keyring).slice(0, 24);
    let home = this.#homes.get(id);
    if (!home) {
      home = this.#import(join(this.#folder, id), keyring);
      this.#homes.set(id, home);
      void home.then((made) => made.kind !== "done" && this.#homes.delete(id));
      for (const old of [...this.#homes.keys()].slice(0, -MAX_HOMES)) {
        this.#homes.delete(old);
        void rm(join(this.#folder, old), { recursive: true, force: true });
      }
    }
    return home;
  }

  async #import(home: string, keyring: Keyring): Promise<Outcome<string>> {
    await rm(home, { recursive: true, force: true });
    await mkdir(home, { recursive: true, mode: 0o700 });
    for (const [id, armoured] of Object.entries(keyring).slice(0, MAX_KEYS)) {
      // One by one: a key that is damaged takes no other with it.
      const ran = await this.#gpg(home, ["--import-options", "import-minimal", "--import"], Buffer.from(armoured));
      if (ran.kind === "stop") return ran;
      if (ran.kind !== "done") return again(REPO.unreachable, `key ${id} cannot be read: ${ran.message}`);
    }
    return done(home);
  }

  async #gpg(home: string, args: string[], stdin: Buffer): Promise<Outcome<string>> {
    const ran = await run("gpg", {
      args: ["--homedir", home, ...OPTIONS, ...args],
      cwd: home,
      env: { HOME: home, LC_ALL: "C" },
      inherit: ["PATH"],
      stdin,
      deadlineMs: DEADLINE_MS,
      maxBytes: 1_000_000,
    });
    if (ran.kind === "done") return done(ran.value.stdout.toString("utf8"));
    return ran.reason === "ToolMissing"
      ? stop(REPO.tool, "gpg is not installed: signatures cannot be verified without it")
      : ran;
  }
}

const STATES: Record<string, SignatureState> = {
  GOODSIG: "Good",
  BADSIG: "Bad",
  EXPSIG: "ExpiredSignature",
  EXPKEYSIG: "ExpiredKey",
  REVKEYSIG: "RevokedKey",
  ERRSIG: "Bad",
};
// What ERRSIG says when the key is not there.
const NO_PUBLIC_KEY = "9";

/** Reads gpg's own lines for programs; exactly one signature must have been judged. */
function judge(status: string): Verdict {
  const lines = status
    .split("\n")
    .filter((line) => line.startsWith("[GNUPG:] "))
    .map((line) => line.slice("[GNUPG:] ".length).split(" "));
  const found = lines.filter(([word]) => word !== undefined && Object.hasOwn(STATES, word));
  if (found.length !== 1) return { state: "Bad", keys: [] };
  const [word = "", id = "", ...rest] = found[0]!;
  if (word === "ERRSIG") {
    const fingerprint = rest[5] && /^[0-9A-F]{16,64}$/i.test(rest[5]) ? rest[5] : id;
    return {
      state: rest[4] === NO_PUBLIC_KEY ? "UnknownKey" : "Bad",
      signer: fingerprint,
      keys: [fingerprint.toUpperCase()],
    };
  }
  const valid = lines.filter(([first]) => first === "VALIDSIG");
  const keys =
    valid.length === 1 ? [valid[0]![1]!, valid[0]!.at(-1)!].map((key) => key.toUpperCase()) : [id.toUpperCase()];
  // A good signature must name its key; without that line it is refused.
  const state = STATES[word]!;
  if (state === "Good" && valid.length !== 1) return { state: "Bad", keys };
  return { state, signer: rest.join(" ").slice(0, 300) || id, keys };
}
