import { createHash } from "node:crypto";
import type { Schemas } from "../domain/nouns.ts";
import { type Answer, ask, type TestService } from "./service.ts";
import { TestWorker } from "./worker.ts";

export type Leased = Schemas["WorkerTask"];

/** Short ways to bring delegates and tasks up in one service. */
export function delegatesOf(service: () => TestService) {
  const tokenOf = async (id: string, query = ""): Promise<{ id: string; token: string }> =>
    (await service().ask("POST", `/v1/delegates/${id}/tokens${query}`, { body: {} })).body;
  /** A replica of a delegate that has enrolled and opened a session. */
  const replica = async (
    id: string,
    options: { query?: string; spec?: object; token?: string; url?: string } = {},
  ): Promise<TestWorker> => {
    const { query = "", spec = {} } = options;
    if (!options.token) await service().ask("PUT", `/v1/delegates/${id}${query}`, { body: { spec } });
    const token = options.token ?? (await tokenOf(id, query)).token;
    const worker = await (await new TestWorker(options.url ?? service().url).enrol(token)).open();
    // It sends no beats. However long the test takes, it was heard of a moment ago.
    for (const table of ["workers", "sessions"])
      await service().db.query(`update ${table} set last_seen_at = now() + interval '1 hour' where worker = $1`, [
        worker.worker,
      ]);
    return worker;
  };
  const create = async (change: object = {}, query = ""): Promise<Schemas["Task"]> => {
    const answer = await service().ask("POST", `/v1/tasks${query}`, {
      body: { kind: "shell.run", params: { script: "true" }, ...change },
    });
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body;
  };
  const task = async (id: string, query = ""): Promise<Schemas["Task"]> =>
    (await service().ask("GET", `/v1/tasks/${id}${query}`)).body;
  /** Takes one task, waiting for it. */
  const take = async (worker: TestWorker): Promise<Leased> => {
    for (let i = 0; i < 30; i++) {
      const [task] = (await worker.exchange({ wait: 2, free: 1 })).tasks;
      if (!task) continue;
      // It is not renewed: for the time of the test the lease does not run out.
      await service().db.query("update tasks set lease_expires_at = now() + interval '1 hour' where id = $1", [
        task.task,
      ]);
      return task;
    }
    throw new Error("no task came");
  };
  const end = (worker: TestWorker, { task: id, fence }: Leased, change: object = {}): Promise<Answer> =>
    worker.call(`tasks/${id}/result`, { fence, outcome: "succeeded", ...change });
  const keep = (
    worker: TestWorker,
    { task: id, fence }: Leased,
    name: string,
    bytes: Uint8Array,
    change: { sha256?: string } = {},
  ) =>
    ask(
      worker.url,
      "PUT",
      `/v1/worker/tasks/${id}/artifacts/${name}?fence=${fence}&sha256=${change.sha256 ?? createHash("sha256").update(bytes).digest("hex")}`,
      { key: worker.session, raw: bytes, headers: { "content-type": "application/octet-stream" } },
    );
  return { tokenOf, replica, create, task, take, end, keep };
}
