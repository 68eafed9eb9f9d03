import { addedBeside, whyLeft } from "./down.ts";

const inUse = `│ Error: The agent is in use
│ It is referred to by applications/shop, repositories/shop.
│ Error: again
│ It is referred to by applications/shop.`;

test.each([
  [
    inUse,
    false,
    "What you added uses it: applications/shop, repositories/shop. It goes with the local cluster and the service.",
  ],
  [inUse, true, expect.stringContaining("Delete that first (`outpost app delete ID`), then run this again.")],
  ["╷\n│ Error: no credentials\n╵", true, "Error: no credentials"],
])("what Terraform left is said in words (%#)", (output, isOwnCluster, want) =>
  expect(whyLeft(output, isOwnCluster)).toEqual(want),
);

test("what a person added goes before Terraform's, applications before what they refer to", async () => {
  const there: Record<string, string> = { app: "app/guestbook\napp/shop\n", repo: "repo/code\nrepo/shop-code\n" };
  const run = async (noun: string) => there[noun] ?? "";
  expect(await addedBeside(run, '{"id": "guestbook"} {"id": "code"}')).toEqual([
    ["app", "shop"],
    ["repo", "shop-code"],
  ]);
});
