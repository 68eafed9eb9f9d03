/** A text as the name of an object: lower case letters, digits, `-` and `.`, at most 253 of them. */
export function normalize(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^-a-z0-9.]/gu, "-")
    .slice(0, 253)
    .replace(/^[-.]+|[-.]+$/g, "");
}

/** A text as a part of an address; cut after the last whole word before `limit`, or where it falls. */
export function slugify(name: string, limit = 50, wholeWords = true): string {
  const plain = normalize(name);
  // A cut within words comes first: what falls together after it leaves fewer than `limit`.
  const slug = (wholeWords ? plain : plain.slice(0, limit))
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/-+/g, "-")
    .replace(/^[-_]+|[-_]+$/g, "");
  if (!wholeWords || limit <= 0 || slug.length <= limit) return slug;
  const at = slug.lastIndexOf("-", limit);
  return slug.slice(0, at >= 0 ? at : limit);
}
