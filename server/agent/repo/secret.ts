import { readFileSync } from "node:fs";
import { Secret } from "../../base/secret.ts";

/** The secret that the repo server and its clients share. */
export function repoSecret(env: NodeJS.ProcessEnv): Secret {
  const path = env.OUTPOST_REPO_TOKEN_FILE;
  if (!path) throw new Error("OUTPOST_REPO_TOKEN_FILE is not set: it names the file with the secret shared with the repo server");
  const secret = readFileSync(path, "utf8").trim();
  if (secret.length < 16) throw new Error(`${path} holds fewer than 16 characters; give it a long random secret`);
  return new Secret(secret);
}
