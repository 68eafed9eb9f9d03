import { person } from "./testing.ts";

const answer = (more: object) => person(() => ({ body: { url: "https://outpost.example/v1/hooks/h", secret: "the-secret", ...more } }));

test("webhook secret writes the secret alone to the output, and beside it what else is entered at the host", async () => {
  const { exit, out, err } = await answer({ username: "outpost" }).types("webhook", "secret", "a");
  expect([exit, out]).toEqual([0, "the-secret\n"]);
  expect(err).toContain("https://outpost.example/v1/hooks/h");
  expect(err).toContain("username: outpost");
  expect(err).not.toContain("the-secret");
});

test("where the host has one field to fill in, that is what is written", async () => {
  const url = "https://outpost.example/v1/hooks/h?secret=the-secret";
  const { out, err } = await answer({ url }).types("webhook", "secret", "a");
  expect([out, err]).toEqual([`${url}\n`, ""]);
});

test("for programs there is all of it", async () => {
  const { out } = await answer({}).types("webhook", "secret", "a", "-o", "json");
  expect(JSON.parse(out)).toEqual({ url: "https://outpost.example/v1/hooks/h", secret: "the-secret" });
});
