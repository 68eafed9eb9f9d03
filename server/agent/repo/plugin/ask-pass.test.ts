import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Secret } from "../../../base/secret.ts";
import { AskPass } from "./ask-pass.ts";

const repo = { url: "https://git.example/a", username: "ana", password: new Secret("canary") };

test("what cannot be lent is a failure with a name, which says no secret and is tried again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ask-"));
  const socket = join(folder, ".ask-pass.sock");
  const askPass = new AskPass(folder);
  try {
    // Nothing can listen where a folder is.
    mkdirSync(join(socket, "in-the-way"), { recursive: true });
    const tries = await Promise.all([askPass.lend(repo), askPass.lend(repo)]);
    for (const one of [...tries, await askPass.lend(repo)]) {
      expect(one).toMatchObject({
        kind: "again",
        reason: "PluginFailed",
        message: expect.stringMatching(/cannot be lent/),
      });
      expect(JSON.stringify(one)).not.toContain("canary");
    }
    rmSync(socket, { recursive: true });
    const [one, other] = await Promise.all([askPass.lend(repo), askPass.lend(repo)]);
    if (one?.kind !== "done" || other?.kind !== "done") throw new Error(JSON.stringify([one, other]));
    expect(statSync(socket).isSocket()).toBe(true);
    one.value.end();
    other.value.end();
  } finally {
    askPass.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
