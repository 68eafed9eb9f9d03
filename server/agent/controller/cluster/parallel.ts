// The API server of a small cluster gains nothing from more requests of one application at once than it has connections.
const PARALLEL = 16;

/** Works on all items, so many at once. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>, most = PARALLEL): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
}
