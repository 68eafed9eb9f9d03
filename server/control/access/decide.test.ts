import { decide } from "./decide.ts";

const account = { account: "a", org: "", project: "" };
const org = { account: "a", org: "o", project: "" };
const project = { account: "a", org: "o", project: "p" };
const key = (role: "viewer" | "editor" | "admin", bound = org) => ({ kind: "key", role, bound }) as const;

test.each<[string, Parameters<typeof decide>, ReturnType<typeof decide>]>([
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
  ["a worker at its operation", ["worker", { kind: "worker" }, account], "allowed"],
])("%s", (_, given, want) => expect(decide(...given)).toBe(want));
