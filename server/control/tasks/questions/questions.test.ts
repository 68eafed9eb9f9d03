import { Questions } from "./questions.ts";

const agent = (id: string, account = "a", org = "") => ({ account, org, uid: `uid-${id}`, id });
const TOP = { org: "", project: "" };
const code = (take: () => unknown) => {
  try {
    take();
    return "taken";
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test("questions are bounded by caller, by agent and by account; what is refused holds no place", () => {
  const questions = new Questions({ caller: 2, tenant: 9, agent: 3, account: 4 });
  const first = questions.take(agent("x"), "one", TOP);
  questions.take(agent("x"), "one", TOP);
  expect(code(() => questions.take(agent("y"), "one", TOP))).toBe("agent_busy");
  questions.take(agent("x"), "two", TOP);
  expect(code(() => questions.take(agent("x"), "two", TOP))).toBe("agent_busy");
  expect(code(() => questions.take(agent("y"), "two", TOP))).toBe("taken");
  expect(code(() => questions.take(agent("z"), "three", TOP))).toBe("agent_busy");
  expect(code(() => questions.take(agent("x", "other"), "one", TOP))).toBe("taken");
  expect(questions.waiting).toBe(5);
  first();
  first();
  expect(questions.waiting).toBe(4);
  expect(code(() => questions.take(agent("x"), "three", TOP))).toBe("taken");
});

test("one tenant of an agent leaves places to the others, with all of its projects and callers", () => {
  const questions = new Questions({ caller: 9, tenant: 2, agent: 4, account: 9 });
  const take = (of: ReturnType<typeof agent>, org: string, project = "") =>
    code(() => questions.take(of, `caller of ${org}/${project}`, { org, project }));
  expect([take(agent("x"), "b"), take(agent("x"), "b", "shop"), take(agent("x"), "b", "web")]).toEqual([
    "taken",
    "taken",
    "agent_busy",
  ]);
  expect([take(agent("x"), "a"), take(agent("x"), "")]).toEqual(["taken", "taken"]);
  // The tenants of an organization's agent are its projects.
  const of = agent("y", "a", "b");
  expect([take(of, "b", "web"), take(of, "b", "web"), take(of, "b", "web"), take(of, "b", "shop")]).toEqual([
    "taken",
    "taken",
    "agent_busy",
    "taken",
  ]);
});
