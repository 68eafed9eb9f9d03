import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { createServer, type Http2Server } from "node:http2";
import { join } from "node:path";
import { again, done, type Outcome } from "../../../base/outcome.ts";
import { REPO, type RepoAccess } from "../types.ts";
import { ASK_PASS, decodeNonce, encodeCredentials, frame, STATUS, unframe, type Variable } from "./wire.ts";

// No plugin's: their names begin with a letter or digit.
const ASK_PASS_SOCKET = ".ask-pass.sock";
const MAX_REQUEST = 10_000;

/**
 * Lends what lets git into one repository to the sidecar of a plugin that asks for it (`provideGitCreds`), as Argo CD does: through a socket, to
 * who names a secret number that counts for one rendering. So nothing of it is in a file or a variable that stays.
 */
export class AskPass {
  readonly #path: string;
  readonly #lent = new Map<string, { username: string; password: string }>();
  #server: Promise<Http2Server> | undefined;

  constructor(folder: string) {
    this.#path = join(folder, ASK_PASS_SOCKET);
  }

  /** Variables for the plugin; they mean nothing any more after `end`. */
  async lend({ username, password, bearerToken }: RepoAccess): Promise<Outcome<{ env: Variable[]; end(): void }>> {
    const secret = password ?? bearerToken;
    if (!secret) return done({ env: [], end: () => {} });
    const starting = this.#server ?? this.#listen();
    this.#server = starting;
    try {
      await starting;
    } catch (error) {
      // What failed once may work for the next.
      if (this.#server === starting) this.#server = undefined;
      const { code, message } = error as NodeJS.ErrnoException;
      return again(
        REPO.plugin,
        `what lets git in cannot be lent: ${ASK_PASS_SOCKET} cannot be made beside the plugins' sockets (${code || message})`,
      );
    }
    const nonce = randomBytes(24).toString("base64url");
    this.#lent.set(nonce, { username: username || "x-access-token", password: secret.reveal() });
    const env = Object.entries({
      GIT_ASKPASS: "argocd",
      ARGOCD_BINARY_NAME: "argocd-git-ask-pass",
      GIT_TERMINAL_PROMPT: "0",
      [ASK_PASS.nonce]: nonce,
      // As sidecars see it, whose folder may be another.
      [ASK_PASS.socket]: process.env.OUTPOST_ASK_PASS_SOCKET || this.#path,
    }).map(([name, value]) => ({ name, value }));
    return done({ env, end: () => void this.#lent.delete(nonce) });
  }

  close(): void {
    void this.#server?.then(
      (server) => server.close(),
      () => {},
    );
    if (this.#server) rmSync(this.#path, { force: true });
    this.#server = undefined;
  }

  async #listen(): Promise<Http2Server> {
    const server = createServer();
    server.on("stream", (stream, headers) => {
      stream.on("error", () => {});
      const answer = async () => {
        let nonce = "";
        for await (const message of unframe(stream as AsyncIterable<Buffer>, MAX_REQUEST)) nonce = decodeNonce(message);
        return headers[":path"] === ASK_PASS.method ? this.#lent.get(nonce) : undefined;
      };
      void answer()
        .catch(() => undefined)
        .then((found) => {
          if (stream.destroyed) return;
          stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
          // gRPC's "not found".
          stream.on("wantTrailers", () =>
            stream.sendTrailers({ "grpc-status": String(found ? STATUS.ok : STATUS.notFound) }),
          );
          stream.end(found ? frame(encodeCredentials(found)) : undefined);
        });
    });
    rmSync(this.#path, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.#path, resolve);
    });
    // Sidecars may run as another user of the Pod's group.
    await chmod(this.#path, 0o660).catch((error: unknown) => {
      server.close();
      throw error;
    });
    return server;
  }
}
