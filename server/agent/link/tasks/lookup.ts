import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { REDACT_LIMITS, Redactor } from "../../../base/redact.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { type Application, sourcesOf } from "../../controller/application.ts";
import { IN_CLUSTER } from "../../controller/destination.ts";
import { LOOKUP, looksUp, type ReadAs } from "../../controller/lookup.ts";
import { actingAs } from "../../controller/projects.ts";

/** What of a request counts for whether an account may make it; nothing for what only says which kinds there are. */
export interface Wish {
  group: string;
  resource: string;
  namespace?: string;
  name?: string;
  verb: "get" | "list";
}

/**
 * Reads for the charts of one application, as its account. The link cannot be another account of its own cluster, as the controller can:
 * it may read everything itself, so it asks the API server of each object and list first whether the account may. What Secrets say is
 * remembered, so that it is told to nobody, wherever a chart has put it.
 */
export class ChartReads {
  readonly #secrets = new Redactor();
  readonly #allowed = new Map<string, Promise<Outcome<undefined>>>();
  #bytes = 0;

  readonly as: ReadAs = (destination, account) => {
    // Of another cluster we have the same credential as the controller.
    if (destination.server !== IN_CLUSTER) return { json: (_, path, ask) => this.#kept(actingAs(destination, account), path, ask) };
    const { client } = destination;
    return {
      json: async (_, path, ask) => {
        const wish = wishOf(path);
        const may = wish && (await this.#may(client, account, wish));
        return may && may.kind !== "done" ? may : this.#kept(client, path, ask);
      },
    };
  };

  /** An object without what Secrets have told its chart; a Secret's own values are digests already, its names stay. */
  hide(object: KubeObject): KubeObject {
    if (this.#secrets.size === 0) return object;
    const { apiVersion, kind, metadata, ...rest } = object;
    const { name, namespace, uid, ...more } = metadata;
    const kept = { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) };
    return { apiVersion, kind, metadata: { ...kept, ...this.#secrets.value(more) }, ...this.#secrets.value(rest) } as KubeObject;
  }

  /** Asked once for each; a chart asks the same again and again. */
  #may(client: KubeClient, account: string, wish: Wish): Promise<Outcome<undefined>> {
    const key = JSON.stringify([account, wish]);
    const known = this.#allowed.get(key) ?? review(client, account, wish);
    this.#allowed.set(key, known);
    return known;
  }

  async #kept(client: KubeClient, path: string, ask: object): Promise<Outcome<unknown>> {
    const answer = await client.json<KubeObject & { items?: KubeObject[] }>("GET", path, ask);
    if (answer.kind !== "done") return answer;
    const { kind, items } = answer.value;
    const found = kind === "Secret" ? [answer.value] : kind === "SecretList" ? (items ?? []) : [];
    for (const value of found.flatMap(({ data }) => Object.values((data ?? {}) as Record<string, string>))) {
      const text = Buffer.from(String(value), "base64").toString("utf8");
      this.#bytes += text.length;
      const { values, valueBytes, allBytes } = REDACT_LIMITS;
      if (this.#secrets.size >= 2 * values || text.length > valueBytes || this.#bytes > allBytes)
        return stop(KUBE.tooLarge, "a chart reads more of Secrets than can be kept out of an answer; look at it where the cluster is");
      this.#secrets.add(text);
      // As it stands in the Secret, with the end that the text's own base64 shares with what may follow it.
      this.#secrets.add(String(value));
    }
    return answer;
  }
}

/** What a path asks for; `controller/reader.ts` has let it pass already. */
export function wishOf(target: string): Wish | undefined {
  const [path = ""] = target.split("?");
  const [root, ...rest] = path.slice(1).split("/").map(decodeURIComponent);
  const group = root === "apis" ? (rest[0] ?? "") : "";
  const inside = rest.slice(root === "apis" ? 2 : 1);
  if ((root !== "api" && root !== "apis") || inside.length === 0) return undefined;
  const [first, namespace = ""] = inside;
  const within = first === "namespaces" && namespace !== "";
  const [resource = "", name] = within && inside.length > 2 ? inside.slice(2) : inside;
  return { group, resource, ...(within ? { namespace } : {}), ...(name ? { name, verb: "get" } : { verb: "list" }) };
}

/** In the namespace where there is one, so that an agent that has only its own may ask too. */
async function review(client: KubeClient, account: string, wish: Wish): Promise<Outcome<undefined>> {
  const { namespace, group, resource, verb } = wish;
  const at = namespace === undefined ? "" : `namespaces/${encodeURIComponent(namespace)}/local`;
  const kind = namespace === undefined ? "SubjectAccessReview" : "LocalSubjectAccessReview";
  const [, , of = ""] = account.split(":");
  const answer = await client.json<KubeObject>("POST", `/apis/authorization.k8s.io/v1/${at}subjectaccessreviews`, {
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind,
      metadata: namespace === undefined ? {} : { namespace },
      spec: {
        user: account,
        groups: ["system:serviceaccounts", `system:serviceaccounts:${of}`, "system:authenticated"],
        resourceAttributes: wish,
      },
    },
  });
  if (answer.kind !== "done") {
    if (answer.reason !== KUBE.forbidden) return answer;
    return stop(LOOKUP.unavailable, `the agent may not ask what accounts may read: ${answer.message}`);
  }
  if (answer.value.status?.allowed === true) return done(undefined);
  const where = namespace === undefined ? "in the whole cluster" : `in the namespace "${namespace}"`;
  return stop(KUBE.forbidden, `User "${account}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`);
}

/**
 * Charts that read the cluster are rendered only at revisions that the application follows or has deployed: what somebody may push, but not
 * merge, must not show him what the account can read.
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
