/** One server-sent event of a watch. */
export interface WatchEvent {
  id: string | undefined;
  event: string;
  data: string;
}

/** Reads server-sent events (as the HTML standard defines them) from a body, in order, until it ends. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  let event: WatchEvent = { id: undefined, event: "message", data: "" };
  let filled = false;
  for await (const part of body) {
    rest += decoder.decode(part, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === "") {
        if (filled) yield { ...event, data: event.data.replace(/\n$/, "") };
        event = { id: event.id, event: "message", data: "" };
        filled = false;
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "id") event.id = value;
      else if (field === "event") event.event = value;
      else if (field === "data") event.data += `${value}\n`;
      else continue;
      filled = true;
    }
  }
}
