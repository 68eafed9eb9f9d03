import type { Database } from "../../store/database/sql.ts";
import { takeToTell } from "../../store/objects/sightings.ts";
import { askForAll } from "../../tasks/notify-agents.ts";

// A full round of 20,000 objects takes the service some 5 s of CPU.
const EVERY_SECONDS = 30;

/**
 * Asks agents to tell everything once more where something is missing that could be shown now: there is room again below the bound, or the
 * service gave up an object that is still in the cluster.
 */
export async function fillUp(db: Database, account: string, most: number): Promise<void> {
  for (const agentUid of await takeToTell(db, account, most, EVERY_SECONDS)) await askForAll(db, account, agentUid);
}
