import { randomUUID } from "node:crypto";
import type { Scope } from "../domain/scope.ts";
import type { Database } from "../store/database/sql.ts";
import { writing } from "../store/database/writer.ts";
import { openSessionRow, type SessionRow, tryFindSession } from "../store/identity/sessions.ts";
import { insertWorker } from "../store/identity/workers.ts";
import { insertObject } from "../store/objects/objects.ts";

export interface SessionOptions {
  tags?: string[];
  capabilities?: string[];
  capacity?: number;
}

/** A replica of a new delegate with an open session, written straight into the store. */
export async function openDelegate(
  db: Database,
  id: string,
  scope: Scope,
  options: SessionOptions = {},
): Promise<SessionRow> {
  const { account } = scope;
  const { tags = [], capabilities = ["shell.run"], capacity = 10 } = options;
  const worker = `${account}-${id}-${randomUUID().slice(0, 8)}`;
  const hash = randomUUID();
  await writing(db, account, async (w) => {
    const object = await insertObject(w, {
      ...scope,
      collection: "delegates",
      id,
      spec: { tags, capacity },
      status: {},
    });
    const keys = { signKey: "", sealKey: "", clusterUid: undefined, tokenId: "t", version: "1", instance: "i" };
    await insertWorker(w, { ...scope, ...keys, worker, kind: "delegate", objectUid: object.uid, id });
    const session = {
      account,
      worker,
      instance: "i",
      version: "1",
      capabilities,
      capacity,
      hash,
      expiresInSeconds: 86_400,
    };
    await openSessionRow(w, session);
    await w.query("update workers set connected = true where worker = $1", [worker]);
  });
  return (await db.transaction((tx) => tryFindSession(tx, account, hash)))!;
}
