const VERSION = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;

/** A version of Kubernetes with all its parts: `v1.33` is 1.33.0. Undefined when it is malformed. */
export function kubeVersionOf(given: string): string | undefined {
  const found = VERSION.exec(given);
  if (!found) return undefined;
  const [, major, minor = "0", patch = "0", pre = "", build = ""] = found;
  return `${major}.${minor}.${patch}${pre}${build}`;
}
