import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { type Identity, type IdentityStore, readIdentity, writeIdentity } from "./identity.ts";

/** An identity in a file that only its owner can read; replaced in one step, so that it is never half written. */
export class FileIdentity implements IdentityStore {
  readonly #path: string;
  constructor(path: string) {
    this.#path = path;
  }

  async load(): Promise<Outcome<Identity | undefined>> {
    try {
      return done(readIdentity(readFileSync(this.#path, "utf8")));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return done(undefined);
      return stop("IdentityUnreadable", `the identity file ${this.#path} cannot be read: ${(error as Error).message}`);
    }
  }

  async save(identity: Identity): Promise<Outcome<Identity>> {
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      const draft = `${this.#path}.${process.pid}`;
      writeFileSync(draft, writeIdentity(identity).reveal(), { mode: 0o600, flush: true });
      renameSync(draft, this.#path);
      return done(identity);
    } catch (error) {
      return stop(
        "IdentityUnwritable",
        `the identity file ${this.#path} cannot be written: ${(error as Error).message}`,
      );
    }
  }
}
