import { person } from "../../testing.ts";

const answer = (more: object) =>
  person(() => ({ body: { url: "https://outpost.example/v1/hooks/h", secret: "the-secret", ...more } }));

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

test("webhook rotate shows the address, until when the old secret is valid, and how to read the new one", async () => {
  const status = { url: "https://outpost.example/v1/hooks/h", previousSecretUntil: "2026-03-02T12:00:00.000Z" };
  const someone = person(() => ({ body: { id: "a", spec: { provider: "github" }, status } }));
  const { exit, out, err } = await someone.types("webhook", "rotate", "a", "--overlap", "2h");
  expect([exit, out]).toEqual([0, "https://outpost.example/v1/hooks/h\n"]);
  expect(err).toContain("stay valid until 2026-03-02T12:00:00.000Z");
  expect(err).toContain("outpost webhook secret a");
  expect(someone.requests.map(({ operation, body }) => [operation, body])).toEqual([
    ["rotateWebhookSecret", { overlap: "2h" }],
  ]);
});

test("webhook rotate without an overlap says that the old secret has ended", async () => {
  const { err } = await person(() => ({ body: { id: "a", spec: {}, status: {} } })).types(
    "webhook",
    "rotate",
    "a",
    "--overlap",
    "0s",
  );
  expect(err).toContain("no longer valid");
});
