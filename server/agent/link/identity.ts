import { again, done, type Outcome } from "../../base/outcome.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KUBE } from "../../kube/errors.ts";
import { RESOURCES } from "../../kube/path.ts";
import { type Identity, type IdentityStore, readIdentity, writeIdentity } from "../../link/identity/identity.ts";

export const IDENTITY_SECRET = "outpost-agent-identity";
const FIELD = "identity";

/** The agent's identity in a Secret of its namespace. The chart makes it empty, so that it goes when the chart goes; replicas share it. */
export class SecretIdentity implements IdentityStore {
  readonly #client: KubeClient;
  readonly #namespace: string;
  #version: string | undefined;

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  async load(): Promise<Outcome<Identity | undefined>> {
    const found = await this.#client.get(RESOURCES.secret, this.#namespace, IDENTITY_SECRET);
    if (found.kind !== "done") {
      if (found.reason !== KUBE.notFound) return found;
      this.#version = undefined;
      return done(undefined);
    }
    this.#version = found.value.metadata.resourceVersion;
    return done(readIdentity(Buffer.from(String(found.value.data?.[FIELD] ?? ""), "base64").toString("utf8")));
  }

  /** The first replica wins: the others get its identity back. */
  async save(identity: Identity): Promise<Outcome<Identity>> {
    const data = { [FIELD]: Buffer.from(writeIdentity(identity).reveal()).toString("base64") };
    const metadata = { name: IDENTITY_SECRET, namespace: this.#namespace };
    const written =
      this.#version === undefined
        ? await this.#client.create(RESOURCES.secret, {
            apiVersion: "v1",
            kind: "Secret",
            metadata,
            type: "Opaque",
            data,
          })
        : await this.#client.mergePatch(RESOURCES.secret, this.#namespace, IDENTITY_SECRET, {
            metadata: { resourceVersion: this.#version },
            data,
          });
    if (written.kind === "done") {
      this.#version = written.value.metadata.resourceVersion;
      return done(identity);
    }
    if (![KUBE.conflict, KUBE.alreadyExists, KUBE.notFound].includes(written.reason as typeof KUBE.conflict))
      return written;
    const theirs = await this.load();
    if (theirs.kind !== "done") return theirs;
    return theirs.value
      ? done(theirs.value)
      : again(KUBE.conflict, `Secret ${IDENTITY_SECRET} was changed by another program`);
  }
}
