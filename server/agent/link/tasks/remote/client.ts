import { Pool } from "undici";
import { again, done, type Outcome } from "../../../../base/outcome.ts";
import type { Secret } from "../../../../base/secret.ts";
import { Box } from "../../../cache/box.ts";
import type { QueryApi, Question, Tell } from "../../queries/task.ts";
import { ALIVE_MS, boundOfCall, boundOfFrame, type Call, type Frame, framesIn, PATH } from "./wire.ts";

const UNREACHABLE = "ControllerUnreachable";

/** The controller over the network: `http://host:port`. */
export class ReadsClient implements QueryApi {
  readonly #pool: Pool;
  readonly #box: Box;
  readonly #address: string;

  constructor(address: string, secret: Secret) {
    this.#address = address;
    this.#box = new Box(secret, "reads");
    this.#pool = new Pool(new URL(address).origin, {
      headersTimeout: 10_000,
      bodyTimeout: 4 * ALIVE_MS,
      connections: 48,
    });
  }

  answer(account: string, question: Question, signal: AbortSignal): Promise<Outcome<Record<string, unknown>>> {
    return this.#call({ call: "answer", account, question: bare(question) }, () => undefined, signal);
  }

  async logs(account: string, question: Question, tell: Tell, signal: AbortSignal): Promise<Outcome<undefined>> {
    const ended = await this.#call<undefined>({ call: "logs", account, question: bare(question) }, tell, signal);
    // The reader has left, or its time is over: that is an end, not a failure.
    return signal.aborted ? done(undefined) : ended;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #call<T>(call: Call, tell: Tell, signal: AbortSignal): Promise<Outcome<T>> {
    const time = String(Date.now());
    const body = this.#box.seal(JSON.stringify(call), boundOfCall(time));
    const headers = { "x-outpost-time": time, "content-type": "application/octet-stream" };
    try {
      const answer = await this.#pool.request({ method: "POST", path: PATH, headers, body, signal });
      if (answer.statusCode !== 200) {
        const said = (await answer.body.text()).slice(0, 200).trim();
        return again(UNREACHABLE, `the controller at ${this.#address} answered ${answer.statusCode}: ${said}`);
      }
      let number = 0;
      for await (const sealed of framesIn(answer.body)) {
        const opened = sealed && this.#box.open(sealed, boundOfFrame(body, number++));
        if (!opened) break;
        const frame = JSON.parse(opened.toString("utf8")) as Frame;
        if ("end" in frame) return frame.end as Outcome<T>;
        if ("line" in frame) await tell(...frame.line);
      }
      answer.body.destroy();
      return again(UNREACHABLE, `the answer of the controller at ${this.#address} broke off`);
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException;
      return again(
        UNREACHABLE,
        `the controller at ${this.#address} cannot be reached: ${message || code}; see whether it runs`,
      );
    }
  }
}

/** The lease stays here. */
const bare = ({ task, kind, params }: Question): Question => ({ task, kind, params });
