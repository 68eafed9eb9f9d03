import { field, type Json, plainColumn as plain } from "../../show.ts";
import { age, delivery, id, scope, type View } from "./columns.ts";
import { held, type Readiness } from "./readiness.ts";

/** What agents trust. */
export const trust = {
  repositorycertificates: {
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      delivery,
      plain("TYPE", "spec.type"),
      plain("HOST", "spec.host"),
      plain("EXPIRES", "status.expiresAt"),
      age,
      plain("FINGERPRINTS", "status.fingerprints", true),
    ],
    readiness: held,
  },
  gnupgkeys: {
    columns: [
      id,
      scope,
      plain("AGENT", "spec.agent"),
      delivery,
      plain("KEY", "status.keyId"),
      plain("ALGORITHM", "status.algorithm"),
      {
        head: "EXPIRES",
        text: (o, c) => (gnupgKey(o).failed ? c.red(gnupgKey(o).reason) : field(o, "status.expiresAt") || "never"),
      },
      age,
      plain("OWNER", "status.owner"),
      plain("FINGERPRINT", "status.fingerprint", true),
    ],
    readiness: gnupgKey,
  },
} satisfies Readonly<Record<string, View>>;

/** A key that has ended or was taken back verifies nothing any more. */
export function gnupgKey(o: Json): Readiness {
  const there = held(o);
  if (!there.ready) return there;
  if (o.status?.revoked) return { ready: false, failed: true, reason: "the key was revoked" };
  if (o.status?.expiresAt && Date.parse(o.status.expiresAt) < Date.now())
    return { ready: false, failed: true, reason: `the key expired at ${o.status.expiresAt}` };
  return there;
}
