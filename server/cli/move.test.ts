import { person } from "./testing.ts";

test.each<[string[], RegExp]>([
  [["app", "apply", "x", "--agent", "b", "--move"], /^\/v1\/applications\/x\?.*move=true/],
  [["app", "patch", "x", "--agent", "b", "--move"], /^\/v1\/applications\/x\?.*move=true/],
  [["app", "apply", "x", "--agent", "b"], /^\/v1\/applications\/x$/],
  // An organisation is with no agent: there is nothing to move.
  [["org", "apply", "x", "--move"], /^\/v1\/organizations\/x$/],
])("%j asks for a move only where it is wanted and possible", async (argv, want) => {
  const me = person(() => ({ body: { id: "x", spec: {}, status: {} } }));
  await me.types(...argv);
  expect(`${me.requests.at(-1)!.url.pathname}${me.requests.at(-1)!.url.search}`).toMatch(want);
});
