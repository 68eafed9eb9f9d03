import { type Command, Option } from "commander";
import type { OperationId } from "../../../../openapi/contract/operations.ts";
import { EXIT, Failure } from "../../output/failure.ts";
import type { Io } from "../../output/io.ts";
import { type Session, verb } from "../../session/session.ts";
import { type Json, say } from "../../show.ts";
import type { Noun } from "../nouns.ts";
import { waitGone } from "../wait.ts";
import { quoted } from "../write.ts";

interface Flags {
  ifMatch?: string;
  force?: boolean;
  cascade?: string;
  yes?: boolean;
  wait: boolean;
  timeout: string;
}

/** `delete`: asks a person at a terminal first. */
export function deleteVerb(parent: Command, io: Io, noun: Noun): void {
  const remove = parent
    .command("delete <id>")
    .alias("rm")
    .summary("delete one")
    .option("-y, --yes", "do not ask; without a terminal nothing is asked")
    .option("--if-match <version>", "only when this is still the newest version")
    .option("--wait", "wait until it is gone", true)
    .option("--no-wait", "do not wait until it is gone")
    .option("--timeout <duration>", "how long to wait until it is gone", "5m");
  if (noun.force) remove.option("--force", "forget it without waiting for the agent; what is in the cluster stays");
  if (noun.cascade)
    remove.addOption(
      new Option(
        "--cascade <how>",
        "what becomes of the objects in the cluster; foreground unless told otherwise",
      ).choices(["foreground", "background", "orphan"]),
    );
  remove.action(verb(io, (s, id: string, flags: Flags) => removeOne(s, noun, id, flags)));
}

async function removeOne(s: Session, noun: Noun, id: string, flags: Flags): Promise<void> {
  if (!flags.yes) await confirm(s, noun, id, flags);
  const headers: Record<string, string> = flags.ifMatch ? { "if-match": quoted(flags.ifMatch) } : {};
  const query = { force: flags.force, cascade: flags.cascade };
  const answer = await (await s.api()).call<Json | "">(`delete${noun.schema}` as OperationId, {
    path: { id },
    query,
    headers,
  });
  if (answer && flags.wait) await waitGone(s, noun, id, flags.timeout);
  else say(s, `${s.e.green("✓")} ${noun.word} ${s.e.bold(id)} ${answer ? "is being deleted" : "deleted"}`);
}

/** Asks for confirmation on a terminal. */
async function confirm(s: Session, noun: Noun, id: string, { force, cascade }: Flags): Promise<void> {
  const goes = noun.cascade && !force && cascade !== "orphan";
  const answer = await s.io.ask?.(`Delete ${noun.word} ${id}${goes ? " and its objects in the cluster" : ""}? [y/N] `);
  if (answer === undefined || /^y(es)?$/i.test(answer.trim())) return;
  throw new Failure("nothing was deleted", EXIT.failed, { hint: "--yes does not ask" });
}
