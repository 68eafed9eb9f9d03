import { until } from "../../../../test/servers/run.ts";
import { PATIENCE_MS } from "../../../../test/within.ts";
import type { Database } from "../../store/database/sql.ts";
import type { SessionRow } from "../../store/identity/sessions.ts";
import type { Stored } from "../../store/objects/objects.ts";
import { ensureAccount } from "../../store/store.ts";
import { onBothStores } from "../../testing/database.ts";
import { openDelegate } from "../../testing/sessions.ts";
import { keepReading, leaseQuestions, renewLeases } from "../queue/lease.ts";
import { sweepTasks } from "../sweep.ts";
import { linesOf } from "./log-stream.ts";

const HOUR = 3_600;
const agent = {
  ...{ account: "a", org: "", project: "", id: "one", uid: "agent-uid" },
  status: { enrolledAt: "2030-01-01T00:00:00Z", connected: true },
} as unknown as Stored;

onBothStores("lines for one reader", (stores) => {
  let db: Database;
  let now: Date;
  beforeEach(async () => {
    now = new Date("2030-01-01T00:00:00Z");
    // What runs outside a transaction gets one here, and with it the clock of the test.
    const real = await stores().open(() => now);
    db = { ...real, query: (text, params) => real.transaction((tx) => tx.query(text, params)) };
    await ensureAccount(db, "a");
  });

  /** A reader with his agent, which holds the lease and renews it as long as it may. */
  async function reading(beatMs?: number) {
    const leave = new AbortController();
    const lines = linesOf(db, agent, { kind: "application.logs", params: {}, seconds: HOUR }, leave.signal, beatMs);
    const first = lines.next();
    const session: SessionRow = {
      ...(await openDelegate(db, "w", { account: "a", org: "", project: "" })),
      objectUid: "agent-uid",
    };
    let task: { task: string; fence: number } | undefined;
    while (!task) [task] = await db.transaction((tx) => leaseQuestions(tx, session, 1));
    await first;
    /** The agent goes on for so long, and says each time that it is at it; whether it may go on. */
    const pass = async (seconds: number) => {
      for (let left = seconds; left > 0; left -= 10) {
        now = new Date(now.getTime() + Math.min(left, 10) * 1_000);
        if ((await db.transaction((tx) => renewLeases(tx, session, [task]))).length) return "lost";
        await sweepTasks(db, "a");
      }
      return "goes on";
    };
    const end = async () => {
      leave.abort();
      await lines.return(undefined);
    };
    return { task: task.task, pass, end };
  }

  test("a follower that is lost with the service's process costs the agent a minute, not the hour that it asked for", async () => {
    const r = await reading();
    // Nobody reads on, and nobody says so.
    expect(await r.pass(60)).toBe("goes on");
    expect(await r.pass(30)).toBe("lost");
    await r.end();
  });

  test("a follower that is there keeps its lines for as long as it asked, and no longer", async () => {
    const r = await reading();
    for (let at = 0; at < HOUR; at += 50) {
      expect(await r.pass(50)).toBe("goes on");
      await keepReading(db, "a", r.task);
    }
    expect(await r.pass(60)).toBe("lost");
    await r.end();
  });

  test("a follower that takes nothing for a while is there all the same", async () => {
    const r = await reading(5);
    const deadline = async () =>
      (await db.query("select deadline_at from tasks where id = $1", [r.task]))[0]!.deadline_at.getTime();
    for (let i = 0; i < 3; i++) {
      expect(await r.pass(50)).toBe("goes on");
      await until("a beat", async () => (await deadline()) >= now.getTime() + 60_000, PATIENCE_MS);
    }
    await r.end();
  });
});
