import type { Dispatcher } from "undici";
import { onAbort } from "../base/process/signal.ts";

// An object is at most 1.5 MB in etcd; a page of a list holds 500 of them and is seldom a hundredth of this.
const MAX_BYTES = 256 * 1024 * 1024;

export class DeadlineOver extends Error {}

export interface Limits {
  deadlineMs: number;
  signal?: AbortSignal;
}

/**
 * One request and its whole answer; throws what undici says, or `DeadlineOver`. undici's own `request` makes a stream, its iterator and two
 * listeners of each answer, about a tenth of the controller's work while 500 applications are made; and `AbortSignal.timeout` keeps each request's timer for the whole
 * time, 15,000 of them at 500 requests a second.
 */
export function exchange(
  pool: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { deadlineMs, signal }: Limits,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let [size, status] = [0, 0];
    let under: Dispatcher.DispatchController | undefined;
    let failed: Error | undefined;
    let withdraw: (() => void) | undefined;
    const fail = (error: Error) => {
      if (failed) return;
      failed = error;
      leave();
      under?.abort(error);
      reject(error);
    };
    const abort = () => fail(new Error("the request was given up"));
    const timer = setTimeout(() => fail(new DeadlineOver()), deadlineMs);
    timer.unref();
    const leave = () => {
      clearTimeout(timer);
      withdraw?.();
    };
    if (signal?.aborted) return abort();
    // All requests of a controller share one signal.
    withdraw = signal && onAbort(signal, abort);
    pool.dispatch(request, {
      // It may have waited for a connection for too long.
      onRequestStart: (controller) => {
        under = controller;
        if (failed) controller.abort(failed);
      },
      onResponseStart: (_, code) => {
        status = code;
      },
      onResponseData: (_, chunk) => {
        size += chunk.length;
        if (size > MAX_BYTES) return fail(new Error(`the answer has more than ${MAX_BYTES} bytes`));
        chunks.push(chunk);
      },
      onResponseEnd: () => {
        leave();
        resolve({ status, text: (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString("utf8") });
      },
      onResponseError: (_, error) => fail(error),
    });
  });
}
