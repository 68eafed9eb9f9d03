import type { Database } from "../../store/database/sql.ts";
import type { SessionRow } from "../../store/identity/sessions.ts";
import type { Stored } from "../../store/objects/objects.ts";
import { ensureAccount } from "../../store/store.ts";
import { onBothStores } from "../../testing/database.ts";
import { openDelegate } from "../../testing/sessions.ts";
import { leaseQuestions } from "../queue/lease.ts";
import { askAgent } from "./ask.ts";

const agent = {
  ...{ account: "a", org: "", project: "", id: "one", uid: "agent-uid" },
  status: { enrolledAt: "2030-01-01T00:00:00Z", connected: true },
} as unknown as Stored;

onBothStores("questions of tenants", (stores) => {
  let db: Database;
  const leave = new AbortController();
  const asked: Promise<unknown>[] = [];
  beforeAll(async () => {
    db = await stores().open();
    await ensureAccount(db, "a");
  });
  afterAll(async () => {
    leave.abort();
    await Promise.all(asked);
  });

  async function ask(key: string, count: number): Promise<void> {
    const queued = async () =>
      Number((await db.query("select count(*) n from tasks where params->>'key' = $1", [key]))[0]!.n);
    const before = await queued();
    for (let i = 0; i < count; i++)
      asked.push(askAgent(db, agent, { kind: "application.tree", params: { key } }, leave.signal).catch(() => {}));
    while ((await queued()) < before + count) await new Promise((resolve) => setImmediate(resolve));
  }

  test("an agent answers its tenants in turns, and one tenant takes no more than 12 of its 16 places", async () => {
    const session: SessionRow = {
      ...(await openDelegate(db, "w", { account: "a", org: "", project: "" })),
      objectUid: "agent-uid",
    };
    const lease = async (most: number) => {
      const tasks = await db.transaction((tx) => leaseQuestions(tx, session, most));
      return tasks
        .map(({ params }) => (params as { key: string }).key.split("/")[0])
        .sort()
        .join("");
    };
    await ask("b/-/one", 10);
    await ask("b/shop/two", 10);
    await ask("a/-/mine", 3);
    expect(await lease(6)).toBe("aaabbb");
    expect(await lease(16)).toBe("b".repeat(9));
    // The agent has a place for each of these the moment that they are asked.
    await ask("a/-/mine", 2);
    await ask("-/-/own", 1);
    expect(await lease(7)).toBe("-aa");
  }, 60_000);
});
