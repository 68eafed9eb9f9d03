import { PRIORITY, Queue } from "./queue.ts";

/** A queue whose work ends when the test says so. */
function controlled(workers: number) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const queue = new Queue(workers, (key) => {
    started.push(key);
    return new Promise((resolve) => ends.set(key, resolve));
  });
  const end = async (key: string) => {
    ends.get(key)!();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, started, end };
}

test("the most urgent goes first", async () => {
  const { queue, started, end } = controlled(1);
  queue.add("busy", PRIORITY.spec);
  queue.add("clock", PRIORITY.periodic);
  queue.add("live", PRIORITY.live);
  queue.add("person", PRIORITY.request);
  await end("busy");
  await end("person");
  await end("live");
  expect(started).toEqual(["busy", "person", "live", "clock"]);
});
test("one key is worked on once at a time, and once more when it changed meanwhile", async () => {
  const { queue, started, end } = controlled(2);
  queue.add("a", PRIORITY.spec);
  queue.add("a", PRIORITY.spec);
  queue.add("a", PRIORITY.live);
  expect(started).toEqual(["a"]);
  await end("a");
  expect(started).toEqual(["a", "a"]);
  await end("a");
  expect(started).toEqual(["a", "a"]);
});
test("a waiting key can become more urgent", async () => {
  const { queue, started, end } = controlled(1);
  queue.add("busy", PRIORITY.spec);
  queue.add("first", PRIORITY.spec);
  queue.add("second", PRIORITY.periodic);
  queue.add("second", PRIORITY.request);
  await end("busy");
  expect(started).toEqual(["busy", "second"]);
  await end("second");
});
test("stop waits for the work that runs and starts nothing more", async () => {
  const { queue, started, end } = controlled(1);
  queue.add("a", PRIORITY.spec);
  queue.add("b", PRIORITY.spec);
  const stopped = queue.stop();
  await end("a");
  await stopped;
  expect(started).toEqual(["a"]);
});
test("nothing is kept of a key that is done", async () => {
  const { queue, end } = controlled(2);
  for (let n = 0; n < 100; n++) {
    queue.add(`gone-${n}`, PRIORITY.spec);
    // As when an application ends while it is worked on.
    queue.forget(`gone-${n}`);
    await end(`gone-${n}`);
  }
  queue.add("later", PRIORITY.periodic, 60_000);
  expect(queue.size).toBe(1);
  queue.forget("later");
  expect(queue.size).toBe(0);
});
