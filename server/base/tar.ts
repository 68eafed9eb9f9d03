import type { Header, Pack } from "tar-stream";

export type NewEntry = Partial<Header> & Pick<Header, "name">;
export type Sink = ReturnType<Pack["entry"]>;

/**
 * Begins an entry and waits until it is in the archive. An archive that ends early ends its entry with an `error` event:
 * without a listener, whatever the entry is, this event would end the whole program.
 */
export function putEntry(
  tar: Pack,
  header: NewEntry,
  fill: (entry: Sink, fail: (error: Error) => void) => void = () => undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const entry = tar.entry(header, (error) => (error ? reject(error) : resolve()));
    entry.on("error", reject);
    fill(entry, reject);
  });
}
