import { at, header, image, list, notice, text } from "../notice.ts";
import { bearer, isSecret, isSigned } from "../signature.ts";
import type { Provider } from "./provider.ts";

/**
 * Whatever else can call: `{"repositories": ["https://…", "oci://…"], "ref": "refs/heads/main", "revision": "…"}`, one as `repository`
 * or `url`, an image as `image` or `docker_url` (Quay), or the notifications of a registry (`events[].target`). Signed by
 * `Authorization: Bearer <secret>` or `X-Outpost-Signature: sha256=<HMAC of the body>`.
 */
export const generic: Provider = {
  signed: (call, secret) =>
    header(call, "x-outpost-signature") !== undefined
      ? isSigned(call, secret, [["x-outpost-signature", "sha256="]])
      : isSecret(bearer(call), secret),
  read: ({ payload }) => {
    const images = [text(payload, "image"), text(payload, "docker_url")].map((name) => name && image(name));
    const events = list(payload, "events");
    const pushed = events.filter((event) => /^(push|delete)$/.test(text(event, "action") ?? "")).map(targetOf);
    if (events.length > 0 && pushed.length === 0) return "ignored";
    const named = list(payload, "repositories").map((one) => text(one) ?? text(one, "url"));
    const repository = at(payload, "repository");
    const fields = ["url", "clone_url", "ssh_url", "git_http_url", "html_url"].map((field) => text(repository, field));
    return notice([text(payload, "url"), text(repository), ...named, ...fields, ...images, ...pushed], {
      refs: [text(payload, "ref"), ...events.map((event) => text(event, "target", "tag"))],
      revision: text(payload, "revision"),
    });
  },
};

/** `target.url` is `https://registry/v2/<name>/manifests/<digest>`; the registry's name for clients is in `request.host`. */
function targetOf(event: unknown): string | undefined {
  const name = text(event, "target", "repository");
  const host = text(event, "request", "host") ?? URL.parse(text(event, "target", "url") ?? "")?.host;
  return host && name ? `oci://${host}/${name}` : undefined;
}
