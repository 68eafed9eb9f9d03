import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:http2";
import { connect as dial } from "node:net";
import { basename, join } from "node:path";
import { again, done, type Outcome } from "../../base/outcome.ts";
import { ASK_PASS, decodeCredentials, encodeNonce, frame, unframe, type Variable } from "../repo/plugin/wire.ts";
import type { PluginConfig } from "./config.ts";

const DEADLINE_MS = 10_000;
const MAX_ANSWER = 100_000;
const NAMES: readonly string[] = [
  "GIT_ASKPASS",
  "ARGOCD_BINARY_NAME",
  "GIT_TERMINAL_PROMPT",
  ASK_PASS.nonce,
  ASK_PASS.socket,
];

/** A job's variables without what would let git in: only `init` and `generate` of a plugin that asks for it have that. */
export const withoutAskPass = (env: readonly Variable[]): Variable[] => env.filter(({ name }) => !NAMES.includes(name));

// git asks `Username for 'https://host': ` and `Password for 'https://user@host': `; only the repository's own host gets an answer.
const SCRIPT = `#!/bin/sh
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

/**
 * What lets git into the application's repository, for as long as a job lasts, where the plugin's file asks for it (`provideGitCreds`). It is
 * asked for here, so that the sidecar's image needs no program that does it, and is in a private folder beside the job's.
 */
export async function borrow(
  { provideGitCreds }: PluginConfig,
  { env: all }: { env: readonly Variable[] },
  { folder }: { folder: string },
): Promise<Outcome<{ env: Variable[]; end(): Promise<void> }>> {
  const said = (name: string) => all.find((one) => one.name === name)?.value;
  const [nonce, socket, url] = [said(ASK_PASS.nonce), said(ASK_PASS.socket), said("ARGOCD_APP_SOURCE_REPO_URL") ?? ""];
  const env = withoutAskPass(all);
  if (!provideGitCreds || !nonce || !socket || !URL.canParse(url)) return done({ env, end: async () => {} });
  let given: { username: string; password: string };
  try {
    // The folder of the sockets may be mounted elsewhere in the repo server.
    const here = join(process.env.OUTPOST_PLUGIN_SOCKETS || "/home/argocd/cmp-server/plugins", basename(socket));
    given = await ask(existsSync(here) ? here : socket, nonce);
  } catch (error) {
    return again(
      "PluginFailed",
      `Git credentials cannot be asked for: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`,
    );
  }
  const own = await mkdtemp(join(folder, "ask-"));
  const file = (name: string, content: string, mode = 0o600) => writeFile(join(own, name), content, { mode });
  await Promise.all([
    file("username", given.username),
    file("password", given.password),
    file("host", new URL(url).host),
    file("askpass", SCRIPT, 0o700),
  ]);
  env.push({ name: "GIT_ASKPASS", value: join(own, "askpass") }, { name: "GIT_TERMINAL_PROMPT", value: "0" });
  return done({ env, end: () => rm(own, { recursive: true, force: true }) });
}

async function ask(path: string, nonce: string): Promise<{ username: string; password: string }> {
  const socket = dial(path);
  const session = connect("http://localhost", { createConnection: () => socket });
  const timer = setTimeout(() => session.destroy(new Error("no answer")), DEADLINE_MS);
  try {
    const failed = new Promise<never>((_, reject) => session.once("error", reject));
    failed.catch(() => {});
    const answered = async () => {
      const stream = session.request({
        ":method": "POST",
        ":path": ASK_PASS.method,
        "content-type": "application/grpc",
        te: "trailers",
      });
      stream.end(frame(encodeNonce(nonce)));
      for await (const message of unframe(stream as AsyncIterable<Buffer>, MAX_ANSWER))
        return decodeCredentials(Buffer.from(message));
      throw new Error("there are none");
    };
    return await Promise.race([answered(), failed]);
  } finally {
    clearTimeout(timer);
    session.destroy();
    socket.destroy();
  }
}
