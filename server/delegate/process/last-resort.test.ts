import { spawnSync } from "node:child_process";
import { SILENT } from "../../link/log.ts";
import { lastResort } from "./last-resort.ts";

const PROGRAM = `
import { EventEmitter } from "node:events";
import { lastResort } from ${JSON.stringify(new URL("./last-resort.ts", import.meta.url).href)};
const said = [];
lastResort({ error: (fields, message) => said.push(message + ": " + fields.error.split("\\n")[0]) });
setImmediate(() => new EventEmitter().emit("error", new Error("no listener")));
setImmediate(() => void Promise.reject(new Error("no catch")));
setTimeout(() => console.log(JSON.stringify(said)), 100);
`;

test("an error that nothing takes is logged, and the process goes on", () => {
  const ran = spawnSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", PROGRAM], {
    encoding: "utf8",
  });
  const start = "a defect of the delegate: an error that nothing took; its tasks go on";
  expect([ran.status, JSON.parse(ran.stdout || "null")]).toEqual([
    0,
    [`${start}: Error: no listener`, `${start}: Error: no catch`],
  ]);
}, 30_000);

test("a hundred of them in a minute end the process, and it can be taken back", () => {
  const before = process.listenerCount("uncaughtException");
  let left = 0;
  const back = lastResort(SILENT, () => void left++);
  const take = process.listeners("uncaughtException").at(-1)!;
  for (let i = 0; i < 100; i++) take(new Error("again"), "uncaughtException");
  expect(left).toBe(0);
  take(new Error("again"), "uncaughtException");
  expect(left).toBe(1);
  back();
  expect(process.listenerCount("uncaughtException")).toBe(before);
});
