import { SCM } from "../hosts/table.ts";
import { access, slug } from "./scm.ts";
import type { World } from "./world.ts";

test.each<[string, string]>([
  ["feat/My_Branch", "feat-my-branch"],
  ["fix: cats & dogs @home", "fix-cats-and-dogs-athome"],
  ["feature/123-of-many/words/which/have/no/room/in/fifty/letters", "feature-123-of-many-words-which-have-no-room-in"],
  [`a/${"b".repeat(60)}`, "a"],
  ["c".repeat(60), "c".repeat(50)],
])("the branch %s is %s in an address", (branch, want) => {
  expect(slug(branch)).toBe(want);
});

test("an address that may not be asked is named without the password in it", async () => {
  const world = { allowedProviders: ["https://git.example"] } as unknown as World;
  const got = await access({ api: "https://ana:canary@git.example/api" }, SCM.github!, { world });
  expect(got).toMatchObject({
    kind: "stop",
    message: expect.stringContaining("https://***@git.example/api is not among"),
  });
});
