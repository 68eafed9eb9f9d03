/** A text as the name of an object: lower case letters, digits, `-` and `.`, at most 253 of them. */
export function normalize(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^-a-z0-9.]/gu, "-")
    .slice(0, 253)
    .replace(/^[-.]+|[-.]+$/g, "");
}

/** A text as a part of an address; cut at `limit`, or at the last whole word before it. */
export function slugify(name: string, limit = 50, wholeWords = false): string {
  const slug = normalize(name)
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/-+/g, "-")
    .replace(/^[-_]+|[-_]+$/g, "");
  if (slug.length <= limit) return slug;
  if (!wholeWords) return slug.slice(0, limit).replace(/^[-_]+|[-_]+$/g, "");
  const at = slug.lastIndexOf("-", limit);
  return slug.slice(0, at >= 0 ? at : limit);
}
