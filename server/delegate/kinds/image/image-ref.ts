import { done, type Outcome, stop } from "../../../base/outcome.ts";

/** An image's name, taken apart as all clients of registries do it. */
export interface ImageName {
  /** As in names, and in logins: `docker.io`, `127.0.0.1:5000`. */
  registry: string;
  /** Where its API is. */
  host: string;
  repository: string;
  tag: string;
  digest?: string;
}

const REPOSITORY = /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const HOST = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$/;

export function parseImage(text: string): Outcome<ImageName> {
  const wrong = (why: string) => stop("ImageNameInvalid", `${JSON.stringify(text)} is not an image's name: ${why}`);
  const [name = "", digest, more] = text.split("@");
  if (more !== undefined || (digest !== undefined && !DIGEST.test(digest)))
    return wrong("after @ there must be sha256: and 64 hex digits");
  const slash = name.indexOf("/");
  const first = slash < 0 ? "" : name.slice(0, slash);
  const named = /[.:]/.test(first) || first === "localhost";
  const registry = named ? first : "docker.io";
  if (!HOST.test(registry)) return wrong(`${registry} is not a host`);
  const rest = named ? name.slice(slash + 1) : name;
  const colon = rest.lastIndexOf(":");
  const tag = colon < 0 ? "latest" : rest.slice(colon + 1);
  if (!TAG.test(tag)) return wrong("its tag has other characters than letters, digits, ., _ and -");
  const path = colon < 0 ? rest : rest.slice(0, colon);
  const hub = registry === "docker.io" || registry === "index.docker.io";
  const repository = hub && !path.includes("/") ? `library/${path}` : path;
  if (!REPOSITORY.test(repository)) return wrong("its repository must be lower-case words between slashes");
  const host = hub ? "registry-1.docker.io" : registry;
  return done({ registry: hub ? "docker.io" : registry, host, repository, tag, ...(digest ? { digest } : {}) });
}

/** `registry/repository`, by which logins are found. */
export const placeOf = ({ registry, repository }: ImageName): string => `${registry}/${repository}`;
