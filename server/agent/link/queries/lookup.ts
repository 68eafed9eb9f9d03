import { REDACT_LIMITS, Redactor } from "../../../base/crypto/redact.ts";
import { type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { type Application, sourcesOf } from "../../controller/application.ts";
import { LOOKUP, looksUp } from "../../controller/cluster/lookup.ts";
import type { ReadAs } from "../../controller/deps.ts";
import { actingAs } from "../../controller/projects.ts";

/**
 * Reads for the charts of one application, as its account. The values of the Secrets that they read are remembered, so that they can be
 * taken out of every answer, wherever a chart has put them.
 */
export class ChartReads {
  readonly #secrets = new Redactor();
  #bytes = 0;

  readonly as: ReadAs = (destination, account) => ({
    json: (_, path, ask) => this.#kept(actingAs(destination, account), path, ask),
  });

  /** An object without the values that its chart read from Secrets; a Secret's own values are digests already, its keys stay. */
  hide(object: KubeObject): KubeObject {
    if (this.#secrets.size === 0) return object;
    const { apiVersion, kind, metadata, ...rest } = object;
    const { name, namespace, uid, ...more } = metadata;
    const kept = { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) };
    return {
      apiVersion,
      kind,
      metadata: { ...kept, ...this.#secrets.value(more) },
      ...this.#secrets.value(rest),
    } as KubeObject;
  }

  async #kept(client: KubeClient, path: string, ask: object): Promise<Outcome<unknown>> {
    const answer = await client.json<KubeObject & { items?: KubeObject[] }>("GET", path, ask);
    if (answer.kind !== "done") return answer;
    const { kind, items } = answer.value;
    const listed = kind === "SecretList" ? (items ?? []) : [];
    const found = kind === "Secret" ? [answer.value] : listed;
    for (const value of found.flatMap(({ data }) => Object.values((data ?? {}) as Record<string, string>))) {
      const text = Buffer.from(String(value), "base64").toString("utf8");
      this.#bytes += text.length;
      const { values, valueBytes, allBytes } = REDACT_LIMITS;
      if (this.#secrets.size >= 2 * values || text.length > valueBytes || this.#bytes > allBytes)
        return stop(
          KUBE.tooLarge,
          "a chart reads more of Secrets than can be kept out of an answer; look at it where the cluster is",
        );
      this.#secrets.add(text);
      // As it stands in the Secret, with the end that the text's own base64 shares with what may follow it.
      this.#secrets.add(String(value));
    }
    return answer;
  }
}

/**
 * Charts that read the cluster are rendered only at revisions that the application follows or has deployed. A person who may push a branch
 * but not merge it must not see with it what the account can read.
 */
export function refusedRevision(app: Application, revision: string | undefined): Outcome<never> | undefined {
  if (revision === undefined || !looksUp(app)) return undefined;
  const { sync, history = [] } = app.status ?? {};
  const deployed = history.flatMap((entry) => [entry.revision, ...(entry.revisions ?? [])]);
  const followed = [sourcesOf(app)[0]?.targetRevision, sync?.revision, ...(sync?.revisions ?? []), ...deployed];
  if (followed.includes(revision)) return undefined;
  return stop(
    LOOKUP.refused,
    `the application's charts read the cluster: they are shown only as of the revision it follows, or one that it has deployed, not ${revision}`,
  );
}
