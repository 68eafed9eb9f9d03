import { readEvents } from "./events.ts";

test("events are read whole whatever the cuts", async () => {
  const text = ": hello\r\nid: 1\nevent: put\ndata: a\ndata: é\n\nevent: bookmark\ndata:\n\n";
  const bytes = new TextEncoder().encode(text);
  async function* cut() {
    for (const byte of bytes) yield Uint8Array.of(byte);
  }
  const got = [];
  for await (const e of readEvents(cut())) got.push(e);
  expect(got).toEqual([
    { id: "1", event: "put", data: "a\né" },
    { id: "1", event: "bookmark", data: "" },
  ]);
});
