/**
 * Ends `controller` when `signal` does, until the function that it gives is called. For signals that live as long as the program:
 * AbortSignal.any of Node 20 leaves something in them at each call, for ever (5 KiB of the service for each round of requests).
 */
export function follow(controller: AbortController, signal: AbortSignal): () => void {
  const end = () => controller.abort(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return () => signal.removeEventListener("abort", end);
}
