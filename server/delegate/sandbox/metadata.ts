import { existsSync } from "node:fs";
import { run } from "../../base/process/run.ts";
import { FIRST_UID, LAST_UID, rangeOf } from "./owners.ts";
import type { Finding } from "./protection.ts";
import { tool } from "./ways.ts";

/** Where clouds give a machine's credentials to any program on it. */
const ADDRESSES = [
  ["-4", "169.254.169.254/32"],
  ["-6", "fd00:ec2::254/128"],
] as const;
/** The users of attempts, and their further ones. */
const USERS = [`${FIRST_UID}-${LAST_UID}`, `${rangeOf(FIRST_UID)}-${rangeOf(LAST_UID + 1) - 1}`];
const DEADLINE_MS = 5_000;
const finding = (on: boolean, why: string): Finding => ({ name: "metadata", on, why });

/**
 * Keeps the users of tasks from the cloud's metadata address by a routing rule for their uids. The rule stays when the delegate ends: these
 * users are of no other use, and another delegate of this machine may rely on it.
 */
export async function blockMetadata(uids: boolean, env: NodeJS.ProcessEnv, look = false): Promise<Finding> {
  if (env.OUTPOST_ALLOW_METADATA === "true")
    return finding(false, "OUTPOST_ALLOW_METADATA allows the cloud's metadata address to tasks");
  if (!uids)
    return finding(
      false,
      "the cloud's metadata address can only be closed to tasks by root: close 169.254.169.254 with a network policy, or require IMDSv2 with a hop limit of 1",
    );
  for (const [family, address] of ADDRESSES) {
    if (family === "-6" && !existsSync("/proc/net/if_inet6")) continue;
    const host = address.slice(0, address.indexOf("/"));
    const there = await ip(family, "show");
    const missing = USERS.filter(
      (users) => !there.out.includes(`to ${host} `) || !there.out.includes(`uidrange ${users}`),
    );
    if (look && missing.length)
      return finding(
        false,
        "the cloud's metadata address is open now; a delegate that starts closes it, with CAP_NET_ADMIN and the program ip",
      );
    for (const users of missing) {
      const added = await ip(family, "add", "pref", "90", "to", address, "uidrange", users, "prohibit");
      if (!added.ok)
        return finding(
          false,
          `the cloud's metadata address could not be closed to tasks (${added.out.trim()}): it needs CAP_NET_ADMIN and the program ip`,
        );
    }
  }
  return finding(true, "the cloud's metadata address cannot be reached");
}

async function ip(family: string, verb: string, ...rest: string[]): Promise<{ ok: boolean; out: string }> {
  const ran = await run(tool("ip"), {
    args: [family, "rule", verb, ...rest],
    cwd: "/",
    deadlineMs: DEADLINE_MS,
    maxBytes: 1_000_000,
  });
  if (ran.kind !== "done") return { ok: false, out: ran.message };
  return { ok: ran.value.code === 0, out: ran.value.code === 0 ? ran.value.stdout.toString() : ran.value.stderr };
}
