import { Pool } from "undici";
import { again, type Outcome, stop } from "../../base/outcome.ts";
import { FairSlots } from "../../base/process/fair-slots.ts";
import type { Secret } from "../../base/secret.ts";
import { Box } from "../cache/box.ts";
import type { Looked, LookRequest, Surveyed, SurveyRequest } from "./types.ts";
import {
  type ChartList,
  REPO,
  type Refs,
  type Rendered,
  type RenderRequest,
  type RepoAccess,
  type RepoApi,
  type RevisionInfo,
  type RevisionRequest,
} from "./types.ts";
import { CALL_PATH, type Call, encodeCall, MAX_ANSWER_BYTES } from "./wire.ts";

const CONNECTIONS = 32;
// A first fetch of a large repository and a slow chart together.
const DEADLINE_MS = 300_000;

/** The repo server over the network: `http://host:port` or `unix:/path`. */
export class RepoClient implements RepoApi {
  readonly #pool: Pool;
  readonly #box: Box;
  readonly #address: string;
  // No tenant holds all connections with repositories or charts that are slow.
  readonly #slots = new FairSlots(CONNECTIONS);

  constructor(address: string, secret: Secret) {
    this.#address = address;
    this.#box = new Box(secret, "repo");
    const socketPath = address.startsWith("unix:") ? address.slice("unix:".length) : undefined;
    const timeouts = { headersTimeout: DEADLINE_MS, bodyTimeout: 30_000, connections: CONNECTIONS };
    this.#pool = socketPath
      ? new Pool("http://localhost", { ...timeouts, socketPath })
      : new Pool(new URL(address).origin, timeouts);
  }

  render(request: RenderRequest): Promise<Outcome<Rendered>> {
    return this.#slots.run(request.app.tenant ?? "", () => this.#call({ call: "render", request }));
  }

  refs(repo: RepoAccess): Promise<Outcome<Refs>> {
    return this.#call({ call: "refs", repo });
  }

  look(request: LookRequest): Promise<Outcome<Looked>> {
    return this.#call({ call: "look", request });
  }

  survey(request: SurveyRequest): Promise<Outcome<Surveyed>> {
    return this.#call({ call: "survey", request });
  }

  revision(request: RevisionRequest): Promise<Outcome<RevisionInfo>> {
    return this.#call({ call: "revision", request });
  }

  charts(repo: RepoAccess): Promise<Outcome<ChartList>> {
    return this.#call({ call: "charts", repo });
  }

  probe(repo: RepoAccess): Promise<Outcome<true>> {
    return this.#call({ call: "probe", repo });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #call<T>(call: Call): Promise<Outcome<T>> {
    const time = String(Date.now());
    const body = this.#box.seal(encodeCall(call), `call ${time}`);
    try {
      const answer = await this.#pool.request({
        method: "POST",
        path: CALL_PATH,
        headers: { "x-outpost-time": time, "content-type": "application/octet-stream" },
        body,
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > MAX_ANSWER_BYTES) return stop(REPO.tooLarge, "the manifests are larger than what is accepted");
        chunks.push(chunk);
      }
      const content = Buffer.concat(chunks);
      if (answer.statusCode === 404 || answer.statusCode === 409)
        return again(
          REPO.server,
          `the repo server at ${this.#address} has another version than this controller: upgrade both together; it is tried again`,
        );
      if (answer.statusCode !== 200) {
        return again(
          REPO.server,
          `the repo server at ${this.#address} answered ${answer.statusCode}: ${content.toString("utf8").slice(0, 200).trim()}`,
        );
      }
      const opened = this.#box.open(content, `answer ${body.subarray(0, 12).toString("hex")}`);
      if (!opened) return again(REPO.server, `the repo server at ${this.#address} does not share our secret`);
      return JSON.parse(opened.toString("utf8")) as Outcome<T>;
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException;
      return again(REPO.server, `the repo server at ${this.#address} cannot be reached: ${message || code}`);
    }
  }
}
