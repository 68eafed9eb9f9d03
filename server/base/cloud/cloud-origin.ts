/**
 * Whether an address is a cloud's own: by the names that are known of it, or because the operator of this program says so
 * (OUTPOST_CLOUD_ORIGINS, with commas between them), as for a sovereign cloud. Only there may a key, or this program's own identity, be sent.
 */
export function isCloudOrigin(url: string, known: RegExp): boolean {
  if (!URL.canParse(url)) return false;
  const { origin, protocol, hostname, username, password, port } = new URL(url);
  if (username || password) return false;
  if (protocol === "https:" && !port && known.test(hostname)) return true;
  const more = (process.env.OUTPOST_CLOUD_ORIGINS ?? "").split(",").map((one) => one.trim());
  return more.some((one) => URL.canParse(one) && new URL(one).origin === origin);
}
