import { readFileSync } from "node:fs";
import { Secret } from "../../base/secret.ts";

/** The secret that the repo server and its clients share. */
export const repoSecret = (env: NodeJS.ProcessEnv): Secret =>
  sharedSecret(env, "OUTPOST_REPO_TOKEN_FILE", "the repo server and its clients");

/** A secret that programs of one agent share, from the file that a variable names. */
export function sharedSecret(env: NodeJS.ProcessEnv, variable: string, between: string): Secret {
  const path = env[variable];
  if (!path) throw new Error(`${variable} is not set: it names the file with the secret that ${between} share`);
  const secret = readFileSync(path, "utf8").trim();
  if (secret.length < 16) throw new Error(`${path} must hold at least 16 characters; give it a long random secret`);
  return new Secret(secret);
}
