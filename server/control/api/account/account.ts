import { Problem } from "../../domain/problem.ts";
import { countDiscovered } from "../../store/objects/shown.ts";
import { queueDepth } from "../../tasks/queue/depth.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";

/** Operations of a few lines each. */
export const whoAmI = (): Handler<"whoAmI"> => async (call) => {
  if (call.caller?.kind !== "key")
    throw new Problem("unauthenticated", "Give an API key: `Authorization: Bearer opk_…`.");
  const { account, id, role, org, project } = call.caller.key;
  return { status: 200, body: { account, id, role, ...(org ? { org } : {}), ...(project ? { project } : {}) } };
};

export const getHealth = (): Handler<"getHealth"> => async () => ({ status: 200, text: "ok\n", type: "text/plain" });

export const getReadiness =
  (s: Services): Handler<"getReadiness"> =>
  async () => {
    const answers = s.stopping.aborted
      ? false
      : await s.db.query("select 1").then(
          () => true,
          () => false,
        );
    return answers
      ? { status: 200, text: "ready\n", type: "text/plain" }
      : { status: 503, text: "not ready\n", type: "text/plain" };
  };

/** Anyone may read the metrics, so the queue is counted at most this often. */
const COUNT_MS = 5_000;

export const getMetrics = (s: Services): Handler<"getMetrics"> => {
  let counted = 0;
  return async () => {
    if (Date.now() - counted >= COUNT_MS) {
      counted = Date.now();
      await countQueue(s).catch((err: unknown) => s.log.warn({ err }, "the queue could not be counted"));
    }
    return { status: 200, text: await s.metrics.registry.metrics(), type: s.metrics.registry.contentType };
  };
};

async function countQueue({ db, metrics, dispatchers }: Services): Promise<void> {
  const depths = await queueDepth(db);
  for (const level of ["account", "org", "project"] as const) {
    const found = depths.find((d) => d.level === level);
    metrics.queued.set({ level }, found?.queued ?? 0);
    metrics.longestQueue.set({ level }, found?.longest ?? 0);
    metrics.oldestWait.set({ level }, found?.oldestSeconds ?? 0);
    metrics.running.set({ level }, found?.running ?? 0);
  }
  metrics.waiting.set(dispatchers.size);
  const { generated, discovered, most } = await countDiscovered(db);
  metrics.discovered.set({ origin: "generated" }, generated);
  metrics.discovered.set({ origin: "discovered" }, discovered);
  metrics.mostDiscovered.set(most);
}
