import { readFile } from "node:fs/promises";
import { done, type Outcome } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";
import { refused } from "./source.ts";

/** Where a source's own credential is: never in the configuration itself. */
export type Credential = { file: string } | { env: string };

/** The credential as it is now: to rotate it, replace the file. */
export async function readCredential(credential: Credential, env: NodeJS.ProcessEnv): Promise<Outcome<Secret>> {
  if ("env" in credential) {
    const value = env[credential.env]?.trim();
    return value
      ? done(new Secret(value))
      : refused(`the source's credential is not there: the delegate has no variable ${credential.env}`);
  }
  try {
    const value = (await readFile(credential.file, "utf8")).trim();
    return value
      ? done(new Secret(value))
      : refused(`the source's credential is not there: ${credential.file} is empty`);
  } catch (error) {
    return refused(
      `the source's credential cannot be read from ${credential.file} (${(error as NodeJS.ErrnoException).code})`,
    );
  }
}
