import { person } from "../testing.ts";

test("a second repository with one address is warned of, and created", async () => {
  const me = person(({ operation }) => ({
    body:
      operation === "listRepositories"
        ? { items: [{ id: "code" }, { id: "code2" }] }
        : { id: "code2", spec: {}, status: {} },
  }));
  const { exit, err } = await me.types("repo", "create", "code2", "--agent", "prod", "--url", "https://git.test/a");
  expect([exit, err]).toEqual([
    0,
    "warning: code has the same address for agent prod; one is enough\n✓ repo code2 created\n",
  ]);
  expect(me.requests.at(-1)!.url.searchParams.get("filter")).toBe('spec.agent="prod",spec.url="https://git.test/a"');
  const alone = await person(({ operation }) =>
    operation === "listRepositories" ? { status: 403, body: {} } : { body: {} },
  ).types(...["repo", "create", "code2", "--agent", "prod", "--url", "https://git.test/a"]);
  expect([alone.exit, alone.err]).toEqual([0, "✓ repo code2 created\n"]);
});
