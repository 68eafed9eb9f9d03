import { changesOf, countOf, type ResourceChange, violations } from "./policy.ts";

const change = (address: string, action: ResourceChange["action"]): ResourceChange => ({
  address,
  type: address.split(".")[0]!,
  action,
});
const plan = [
  change("aws_db_instance.main", "replace"),
  change("aws_s3_bucket.logs", "delete"),
  change("aws_iam_role.a", "create"),
  change("aws_iam_role.b", "update"),
];

test.each<[string, Parameters<typeof violations>[1], string[]]>([
  ["an empty policy allows everything", {}, []],
  ["bounds that are kept", { maxCreate: 1, maxUpdate: 1, maxDelete: 2 }, []],
  [
    "a replacement counts as a delete",
    { maxDelete: 1 },
    ["2 would be deleted or replaced, at most 1 may (maxDelete): aws_db_instance.main, aws_s3_bucket.logs"],
  ],
  ["and not as a create", { maxCreate: 0 }, ["1 would be created, at most 0 may (maxCreate): aws_iam_role.a"]],
  ["no update", { maxUpdate: 0 }, ["1 would be updated, at most 0 may (maxUpdate): aws_iam_role.b"]],
  [
    "types by glob",
    { deny: [{ types: ["aws_iam_*"] }] },
    ["aws_iam_role.a (create), aws_iam_role.b (update) is denied"],
  ],
  [
    "types by glob and action, with the reason",
    { deny: [{ types: ["*_role"], actions: ["update"], message: "ask the security team" }] },
    ["aws_iam_role.b (update) is denied: ask the security team"],
  ],
  [
    "who denies deletes denies replacements",
    { deny: [{ types: ["aws_db_*"], actions: ["delete"] }] },
    ["aws_db_instance.main (replace) is denied"],
  ],
  ["a glob is the whole name", { deny: [{ types: ["aws", "iam_role", "*_iam", "aws_*_instance_*"] }] }, []],
  ["stars in the middle", { deny: [{ types: ["a*s_*_b*t"] }] }, ["aws_s3_bucket.logs (delete) is denied"]],
])("%s", (_name, policy, want) => {
  expect(violations(plan, policy)).toEqual(want);
});

test("changes are read from a plan's JSON form; what is only read or kept is none", () => {
  const one = (address: string, actions: string[], mode = "managed") => ({
    address,
    mode,
    type: "t",
    change: { actions },
  });
  const changes = changesOf({
    resource_changes: [
      one("a", ["create"]),
      one("b", ["delete", "create"]),
      one("c", ["create", "delete"]),
      one("d", ["no-op"]),
      one("e", ["read"], "data"),
      one("f", ["forget"]),
    ],
  });
  expect(changes.map(({ address, action }) => `${address} ${action}`)).toEqual(["a create", "b replace", "c replace"]);
  expect(countOf(changes)).toEqual({ create: 3, update: 0, delete: 2 });
});
