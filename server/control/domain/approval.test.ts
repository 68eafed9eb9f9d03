import { type ApprovalWanted, countApprovals, isApproved } from "./approval.ts";

const approved = (by: string, role: "admin" | "editor", lineage?: string) => ({
  by,
  role,
  lineage,
  decision: "approved" as const,
  at: "",
});

test.each<[name: string, wanted: ApprovalWanted | undefined, decisions: ReturnType<typeof approved>[], want: boolean]>([
  ["nothing is asked for", undefined, [], true],
  ["nobody has approved", { role: "editor" }, [], false],
  ["an editor is not an admin", { role: "admin" }, [approved("e", "editor")], false],
  ["an admin counts as an editor", { role: "editor" }, [approved("a", "admin")], true],
  ["one person counts once", { role: "editor", minimum: 2 }, [approved("e", "editor"), approved("e", "editor")], false],
  ["two people", { role: "editor", minimum: 2 }, [approved("e", "editor"), approved("a", "admin")], true],
  ["two admins are asked for", { role: "admin", minimum: 2 }, [approved("e", "editor"), approved("a", "admin")], false],
  ["the requester may approve", { role: "admin" }, [approved("me", "admin")], true],
  ["the requester does not count", { role: "admin", excludeRequester: true }, [approved("me", "admin")], false],
  [
    "another one does",
    { role: "admin", excludeRequester: true },
    [approved("me", "admin"), approved("a", "admin")],
    true,
  ],
  [
    "two keys of one lineage are one person",
    { role: "editor", minimum: 2 },
    [approved("k1", "admin", "a"), approved("k2", "admin", "a")],
    false,
  ],
  [
    "the first of a lineage is the same person",
    { role: "editor", minimum: 2 },
    [approved("a", "admin"), approved("k2", "admin", "a")],
    false,
  ],
  [
    "a key of the requester's lineage",
    { role: "admin", excludeRequester: true },
    [approved("k1", "admin", "me")],
    false,
  ],
  [
    "a person counts with the highest role of any key",
    { role: "admin" },
    [approved("k1", "editor", "a"), approved("k2", "admin", "a")],
    true,
  ],
  [
    "a role given first as editor, then as admin",
    { role: "admin" },
    [approved("a", "editor"), approved("a", "admin")],
    true,
  ],
])("approval: %s", (_, wanted, decisions, want) => {
  expect(isApproved(wanted, countApprovals(decisions, "me"))).toBe(want);
});

test("a rejection is not an approval, and an unknown role is none of an admin", () => {
  expect(countApprovals([{ by: "a", decision: "rejected", role: "admin", at: "" }], "me")).toBeUndefined();
  expect(isApproved({ role: "admin" }, countApprovals([{ by: "a", decision: "approved", at: "" }], "me"))).toBe(false);
});
