import { codes } from "../../../openapi/contract/codes.ts";
import { person } from "../testing.ts";

const NOTHING = "There is nothing here, or this credential may not see it. Check the id, org and project.";
const refused = (code: keyof typeof codes, detail: string, more = {}) => ({
  status: codes[code].status,
  body: { type: "about:blank", title: codes[code].title, status: codes[code].status, code, detail, ...more },
});

test.each([
  [
    ["app", "get", "guestbok"],
    "there is no application `guestbok` in the account, or this key may not see it. Did you mean `guestbook`?",
  ],
  [
    ["app", "sync", "guestbok", "--org", "shop"],
    "no application `guestbok` in organization shop, or this key may not see it. Did you mean",
  ],
  [["appset", "get", "x"], "there is no application set `x` in the account, or this key may not see it.\n"],
  [["repo", "test", "y"], "there is no repository `y`"],
])("%j names what is not there, and what is near", async (words, want) => {
  const me = person(({ operation }) =>
    operation === "listApplications" ? { body: { items: [{ id: "guestbook" }] } } : refused("not_found", NOTHING),
  );
  const { exit, err } = await me.types(...words);
  expect([exit, err]).toEqual([3, expect.stringContaining(want)]);
});

test.each([
  [
    ["app", "create", "a", "--agent", "x"],
    refused("already_exists", "leave out If-None-Match", { currentVersion: "7" }),
    4,
    "already application `a`",
  ],
  [
    ["app", "apply", "a", "--agent", "x", "--if-match", "1"],
    refused("version_mismatch", "the ETag", { currentVersion: "7" }),
    4,
    "get it again",
  ],
  [
    ["app", "list"],
    refused("unauthenticated", "Give a valid API key: `Authorization: Bearer`"),
    6,
    "outpost login ENDPOINT, or set OUTPOST_API_KEY",
  ],
  [
    ["app", "delete", "a", "--yes"],
    refused("not_adopted", "The service did not make this object."),
    4,
    "outpost app adopt a",
  ],
  [["app", "create", "A", "--agent", "x"], refused("invalid_request", "must be a name"), 2, "must be a name"],
  [["app", "rollback", "a", "9"], refused("invalid_field", "The history has no entry 9."), 2, "no entry 9"],
  [["app", "get", "a"], refused("not_found", "The history has no entry 9."), 3, "The history has no entry 9."],
])("%j says what to do in words of the command line", async (words, answer, exit, want) => {
  const got = await person(() => answer).types(...words);
  expect([got.exit, got.err]).toEqual([exit, expect.stringContaining(want)]);
  expect(got.err).not.toMatch(/If-None-Match|ETag|Bearer/);
});
