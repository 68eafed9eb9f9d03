import type { Access } from "../../../openapi/contract/operations.ts";
import { decide } from "./decide.ts";

const account = { account: "a", org: "", project: "" };
const org = { account: "a", org: "o", project: "" };
const project = { account: "a", org: "o", project: "p" };
const key = (role: "viewer" | "editor" | "admin", bound = org) => ({ kind: "key", role, bound }) as const;

type Case = [string, [string, Parameters<typeof decide>[1], Parameters<typeof decide>[2]], ReturnType<typeof decide>];
const task = (bound = org) => ({ kind: "task", bound }) as const;

test.each<Case>([
  ["public needs nobody", ["public", undefined, account], "allowed"],
  ["nobody", ["viewer", undefined, account], "unauthenticated"],
  ["own scope", ["viewer", key("viewer"), org], "allowed"],
  ["scope below", ["viewer", key("viewer"), project], "allowed"],
  ["scope above", ["viewer", key("admin"), account], "hidden"],
  ["scope beside", ["viewer", key("admin"), { ...org, org: "x" }], "hidden"],
  ["scope beside, one level down", ["viewer", key("admin", project), { ...project, project: "q" }], "hidden"],
  ["another account", ["viewer", key("admin", account), { ...account, account: "b" }], "hidden"],
  ["role too small", ["editor", key("viewer"), org], "forbidden"],
  ["hidden comes before forbidden", ["admin", key("viewer"), account], "hidden"],
  ["role larger than needed", ["viewer", key("admin"), org], "allowed"],
  ["any role", ["any", key("viewer"), account], "allowed"],
  ["a worker at a person's operation", ["viewer", { kind: "worker" }, account], "unauthenticated"],
  ["a key at a worker's operation", ["worker", key("admin", account), account], "unauthenticated"],
  ["a task at an operation for tasks, in its scope", ["viewer+task", task(), org], "allowed"],
  ["a task at a write for tasks, in its scope", ["editor+task", task(), org], "allowed"],
  ["a task at an operation for tasks that needs more than an editor", ["admin+task", task(), org], "forbidden"],
  ["a task below its scope", ["viewer+task", task(), project], "hidden"],
  ["a task above its scope", ["viewer+task", task(), account], "hidden"],
  ["a task of another account", ["viewer+task", task(), { ...org, account: "b" }], "hidden"],
  ["a task at an operation that is not for tasks", ["viewer", task(), org], "unauthenticated"],
  ["a task at one for anybody", ["any+task", task(), org], "unauthenticated"],
  ["a task at a worker's operation", ["worker", task(), org], "unauthenticated"],
  ["a worker at its operation", ["worker", { kind: "worker" }, account], "allowed"],
])("%s", (_, [rule, actor, scope], want) => {
  const [access, forTasks] = rule.split("+");
  expect(decide({ access: access as Access, task: forTasks !== undefined }, actor, scope)).toBe(want);
});
