import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { settled, type World, world } from "../world.ts";

let w: World;
let repository: string;
let right: string;
let wrong: string;
beforeAll(async () => {
  w = await world();
  repository = (await w.api.GET("/v1/repositories")).data!.items[0]!.id;
  right = join(w.stack, "../git-password");
  wrong = join(w.stack, "../wrong-password");
  writeFileSync(wrong, "canary-of-a-wrong-password\n", { mode: 0o600 });
});
afterAll(async () => {
  await w.cli("repo", "patch", repository, "--password-file", right, "--credentials-version", "restored");
  await w.cli("app", "refresh", "guestbook", "--hard");
  await w.waitApplication("guestbook", "guestbook settled", settled);
  // The stack says which version it gave: it is told that nothing has changed.
  await w.terraform(w.stack, "apply", "-auto-approve");
});

test("a wrong password is told by name everywhere, deletes nothing, and the right one heals it", async () => {
  expect(
    (await w.cli("repo", "patch", repository, "--password-file", wrong, "--credentials-version", "wrong")).exit,
  ).toBe(0);
  const test = await w.cli("repo", "test", repository);
  expect([test.exit, test.err]).toEqual([1, expect.stringContaining("AuthenticationFailed")]);
  await w.cli("app", "refresh", "guestbook", "--hard");
  await w.waitApplication("guestbook", "AuthenticationFailed", (a) =>
    (a.status.conditions ?? []).some((c) => c.reason === "AuthenticationFailed"),
  );
  expect((await w.cli("app", "get", "guestbook")).out).toContain("AuthenticationFailed");
  expect((await w.cluster.kubectl("-n", "guestbook", "get", "deployment", "guestbook", "-o", "name")).trim()).toBe(
    "deployment.apps/guestbook",
  );
  expect(
    (await w.cli("repo", "patch", repository, "--password-file", right, "--credentials-version", "right")).exit,
  ).toBe(0);
  const healed = await w.cli("repo", "test", repository);
  expect([healed.exit, healed.err]).toEqual([0, ""]);
  await w.cli("app", "refresh", "guestbook", "--hard");
  await w.waitApplication("guestbook", "guestbook settled", settled);
});

test("branches and tags are listed through the agent", async () => {
  const { out } = await w.cli("repo", "refs", repository, "-o", "json");
  expect(JSON.parse(out)).toMatchObject({
    branches: [{ name: "main", revision: await w.repository.tip("refs/heads/main") }],
  });
});
