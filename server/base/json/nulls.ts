/** The value without the fields and items that are null, at any depth: the value itself where there is none, as nearly always. */
export function withoutNulls(value: unknown): unknown {
  if (value === null) return undefined;
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const items = value.map(withoutNulls);
    return items.every((item, i) => item === value[i]) ? value : items.filter((item) => item !== undefined);
  }
  let copy: Record<string, unknown> | undefined;
  for (const key in value) {
    const before = (value as Record<string, unknown>)[key];
    const after = withoutNulls(before);
    if (after === before) continue;
    copy ??= { ...value };
    if (after === undefined) delete copy[key];
    else copy[key] = after;
  }
  return copy ?? value;
}
