// The API server of a small cluster gains nothing from more requests of one application at once than it has connections.
const MOST = 16;

/** Does the work for all items, so many at once. The results are in the order of the items. */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>, most = MOST): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i]!);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return results;
}
