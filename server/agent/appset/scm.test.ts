import { slug } from "./scm.ts";

test.each<[string, string]>([
  ["feat/My_Branch", "feat-my-branch"],
  ["fix: cats & dogs @home", "fix-cats-and-dogs-athome"],
  ["feature/123-of-many/words/which/have/no/room/in/fifty/letters", "feature-123-of-many-words-which-have-no-room-in"],
  [`a/${"b".repeat(60)}`, "a"],
  ["c".repeat(60), "c".repeat(50)],
])("the branch %s is %s in an address", (branch, want) => {
  expect(slug(branch)).toBe(want);
});
