import type { TestService } from "./service.ts";
import { TestWorker } from "./worker.ts";

/** Short ways to bring agents up in one service. */
export function agentsOf(service: () => TestService) {
  const put = (path: string, spec: object) => service().ask("PUT", path, { body: { spec } });
  const tokenOf = async (agent: string, query = "") =>
    (await service().ask("POST", `/v1/agents/${agent}/tokens${query}`, { body: {} })).body.token as string;
  /** An agent that has enrolled from a cluster of its own and opened a session. */
  const agent = async (id: string, query = "") => {
    await put(`/v1/agents/${id}${query}`, {});
    const worker = await new TestWorker(service().url, `${id}-0`, `cluster-of-${id}`).enrol(await tokenOf(id, query));
    return worker.open();
  };
  return { put, tokenOf, agent };
}
