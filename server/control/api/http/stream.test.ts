import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { EventStream } from "./stream.ts";

/** A reader that takes nothing until it is told to. */
class StalledReader extends EventEmitter {
  destroyed = false;
  writeHead() {}
  flushHeaders() {}
  write(): boolean {
    return false;
  }
  end() {}
  destroy() {
    this.destroyed = true;
    this.emit("close");
  }
}

test("a thousand stalled writes leave no listener and cause no warning", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  const reader = new StalledReader();
  const stream = new EventStream(reader as unknown as ServerResponse);
  const before = reader.listenerCount("close") + reader.listenerCount("drain") + reader.listenerCount("error");
  for (let i = 0; i < 1_000; i++) {
    const written = stream.comment("x");
    reader.emit("drain");
    await written;
  }
  const waiting = Array.from({ length: 100 }, () => stream.comment("x"));
  expect(reader.listenerCount("drain")).toBe(1);
  reader.emit("drain");
  await Promise.all(waiting);
  expect(reader.listenerCount("close") + reader.listenerCount("drain") + reader.listenerCount("error")).toBe(before);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});

test("a write ends when the reader leaves", async () => {
  const reader = new StalledReader();
  const stream = new EventStream(reader as unknown as ServerResponse);
  const written = stream.comment("x");
  reader.destroy();
  await written;
  expect(stream.gone).toBe(true);
});
