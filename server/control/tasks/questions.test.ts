import { Questions } from "./questions.ts";

const agent = (id: string, account = "a") => ({ account, uid: `uid-${id}`, id });
const code = (take: () => unknown) => {
  try {
    take();
    return "taken";
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test("questions are bounded by caller, by agent and by account; what is refused holds no place", () => {
  const questions = new Questions({ caller: 2, agent: 3, account: 4 });
  const first = questions.take(agent("x"), "one");
  questions.take(agent("x"), "one");
  expect(code(() => questions.take(agent("y"), "one"))).toBe("agent_busy");
  questions.take(agent("x"), "two");
  expect(code(() => questions.take(agent("x"), "two"))).toBe("agent_busy");
  expect(code(() => questions.take(agent("y"), "two"))).toBe("taken");
  expect(code(() => questions.take(agent("z"), "three"))).toBe("agent_busy");
  expect(code(() => questions.take(agent("x", "other"), "one"))).toBe("taken");
  expect(questions.waiting).toBe(5);
  first();
  first();
  expect(questions.waiting).toBe(4);
  expect(code(() => questions.take(agent("x"), "three"))).toBe("taken");
});
