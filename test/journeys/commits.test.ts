import { until } from "../servers/run.ts";
import { settled, type World, world } from "../world.ts";

let w: World;
let home: string;
beforeAll(async () => {
  w = await world();
  home = (await w.repository.tip("refs/heads/main"))!;
});
beforeEach(() => w.waitApplication("guestbook", "guestbook settled", settled));
afterEach(async () => {
  await w.repository.git("update-ref", "refs/heads/main", home);
  await w.cli("app", "refresh", "guestbook");
  await w.waitApplication(
    "guestbook",
    "guestbook back at its first commit",
    (a) => settled(a) && a.status.sync?.revision === home,
  );
});

const commit = async (files: Record<string, string | null>, message: string) => {
  const revision = await w.repository.commit(files, message, { branch: "main" });
  expect((await w.cli("app", "refresh", "guestbook")).exit).toBe(0);
  return revision;
};
const extra = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  a: "1"\n`;
const there = (name: string) =>
  w.cluster.kubectl("-n", "guestbook", "get", "configmap", name, "-o", "name").then(
    () => true,
    () => false,
  );
const objects = async () =>
  (await w.cluster.kubectl("-n", "guestbook", "get", "deployment,service", "-o", "name")).trim();
const condition = (reason: string) =>
  w.waitApplication("guestbook", reason, (a) => (a.status.conditions ?? []).some((c) => c.reason === reason));

test("a commit is live after a refresh; what it takes away is pruned; history tells of both", async () => {
  const first = await commit({ "guestbook/extra.yaml": extra("extra") }, "Add one");
  await w.waitApplication("guestbook", "the new commit", (a) => settled(a) && a.status.sync?.revision === first);
  expect(await there("extra")).toBe(true);
  const second = await commit({ "guestbook/extra.yaml": null }, "Take it away");
  await w.waitApplication("guestbook", "the prune", (a) => settled(a) && a.status.sync?.revision === second);
  await until("the object is gone", async () => !(await there("extra")));
  const { out } = await w.cli("app", "history", "guestbook", "-o", "json");
  const revisions = JSON.parse(out).items.map((h: { revision: string }) => h.revision);
  expect(revisions).toEqual(expect.arrayContaining([first, second]));
});

test("a commit that does not parse is told by name, deletes nothing, and the next good one heals it", async () => {
  const before = await objects();
  await commit({ "guestbook/bad.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: [unfinished\n" }, "Break it");
  const now = await condition("ManifestInvalid");
  expect(now.status.sync?.status).toBe("Unknown");
  expect(now.status.conditions!.find((c) => c.reason === "ManifestInvalid")!.message).toContain("bad.yaml");
  expect((await w.cli("app", "get", "guestbook")).out).toContain("ManifestInvalid");
  expect(await objects()).toBe(before);
});

test("a folder that became empty deletes nothing", async () => {
  const before = await objects();
  const files = (await w.repository.git("ls-tree", "-r", "--name-only", "refs/heads/main"))
    .split("\n")
    .filter((f) => f.startsWith("guestbook/"));
  await commit({ ...Object.fromEntries(files.map((f) => [f, null])), "guestbook/README.md": "moved\n" }, "Empty it");
  await w.waitApplication("guestbook", "a look at the empty folder", (a) => a.status.sync?.status !== "Synced");
  expect(await objects()).toBe(before);
});

test("a deleted branch is told by name and deletes nothing", async () => {
  const before = await objects();
  await w.repository.git("symbolic-ref", "HEAD", "refs/heads/other");
  await w.repository.git("update-ref", "refs/heads/other", home);
  await w.repository.deleteBranch("main");
  await w.cli("app", "refresh", "guestbook");
  await condition("RevisionNotFound");
  expect((await w.cli("app", "get", "guestbook")).out).toContain("RevisionNotFound");
  expect(await objects()).toBe(before);
  await w.repository.git("update-ref", "refs/heads/main", home);
  await w.repository.git("symbolic-ref", "HEAD", "refs/heads/main");
  await w.repository.deleteBranch("other");
});
