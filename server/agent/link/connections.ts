import type { Schemas } from "../../../openapi/client.ts";
import { pause } from "../../base/process/pause.ts";
import { KUBE } from "../../kube/errors.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { Reports } from "../../link/reports.ts";
import type { RepoApi } from "../repo/types.ts";
import type { AgentContext } from "./context.ts";
import { repositoryAccess, withCluster } from "./credentials/repository-access.ts";
import type { Collection } from "./names.ts";
import { NOT_WITH_ARGO_CD } from "./queries/beside.ts";

type Connection = Schemas["Connection"];
export type ConnectionStatus = { connection: Connection; serverVersion?: string };

const now = () => new Date().toISOString();
const failed = ({ reason, message }: { reason: string; message: string }): Connection => ({
  state: "Failed",
  reason,
  message,
  checkedAt: now(),
});

/** Tries a repository of any type with the credentials of its Secret; the reason names the layer that failed. */
export async function testRepository(ctx: AgentContext, repo: RepoApi, secret: KubeObject): Promise<ConnectionStatus> {
  const access = await repositoryAccess(ctx, secret);
  if (access.kind !== "done") return { connection: failed(access) };
  const probed = await repo.probe(access.value);
  // Beside Argo CD the connection is not tested here, so the result says nothing about the repository.
  if (probed.kind !== "done" && probed.reason === NOT_WITH_ARGO_CD)
    return { connection: { ...failed(probed), state: "Unknown" } };
  return { connection: probed.kind === "done" ? { state: "Successful", checkedAt: now() } : failed(probed) };
}

/** Tries a cluster with the credentials that its Secret has. */
export async function testCluster(ctx: AgentContext, secret: KubeObject): Promise<ConnectionStatus> {
  const version = await withCluster(ctx, secret, (client) =>
    client.json<{ gitVersion?: string }>("GET", "/version", { deadlineMs: 10_000 }),
  );
  if (version.kind !== "done") return { connection: failed({ ...version, reason: layerOf(version) }) };
  const { gitVersion } = version.value;
  return {
    connection: { state: "Successful", checkedAt: now() },
    ...(gitVersion ? { serverVersion: gitVersion } : {}),
  };
}

const LAYERS: [RegExp, string][] = [
  [/ENOTFOUND|EAI_AGAIN|EAI_NODATA/, "HostNotFound"],
  [/ECONNREFUSED/, "ConnectionRefused"],
  [/certificate|CERT|TLS|SSL|EPROTO|Hostname\/IP does not match/i, "CertificateUntrusted"],
];

/** The layer below the API server that failed: the client reports all of them, because they are transient, under one name. */
function layerOf({ reason, message }: { reason: string; message: string }): string {
  if (reason === KUBE.unauthorized) return "AuthenticationFailed";
  return (reason === KUBE.unavailable && LAYERS.find(([pattern]) => pattern.test(message))?.[1]) || reason;
}

interface Wanted {
  collection: Collection;
  key: string;
  uid: string;
  object: KubeObject;
}

// Each try may start a git process.
const PARALLEL = 4;
const RETRY_MS = [5_000, 15_000, 60_000, 300_000];

/** Tries the connection of each repository and cluster when its Secret comes or changes, and again while it fails. */
export class Connections {
  readonly #options: { ctx: AgentContext; repo: RepoApi; reports: Reports; signal: AbortSignal };
  readonly #wanted = new Map<string, Wanted>();
  #running = 0;

  constructor(options: { ctx: AgentContext; repo: RepoApi; reports: Reports; signal: AbortSignal }) {
    this.#options = options;
  }

  want(wanted: Wanted): void {
    this.#wanted.set(wanted.uid, wanted);
    this.#next();
  }

  #next(): void {
    while (this.#running < PARALLEL && this.#wanted.size && !this.#options.signal.aborted) {
      const [uid, wanted] = this.#wanted.entries().next().value!;
      this.#wanted.delete(uid);
      this.#running++;
      void this.#try(wanted, 0).finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  async #try(wanted: Wanted, attempt: number): Promise<void> {
    const { ctx, repo, reports, signal } = this.#options;
    const { collection, key, uid, object } = wanted;
    try {
      const status =
        collection === "repositories" ? await testRepository(ctx, repo, object) : await testCluster(ctx, object);
      // A newer Secret is waiting, so this result would be outdated.
      if (signal.aborted || this.#wanted.has(uid)) return;
      reports.put({ collection, key, uid }, { status });
      if (status.connection.state === "Failed") void this.#later(wanted, attempt);
    } catch (error) {
      ctx.log.error({ object: key, error: (error as Error).stack }, "trying a connection threw");
    }
  }

  async #later(wanted: Wanted, attempt: number): Promise<void> {
    await pause(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)]!, this.#options.signal);
    if (this.#options.signal.aborted || this.#wanted.has(wanted.uid)) return;
    // The Secret may have changed or gone meanwhile; then its own event has brought the newer one, or the test is no longer wanted.
    const { ctx } = this.#options;
    const current = await ctx.client.get(
      { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true },
      ctx.namespace,
      wanted.object.metadata.name,
    );
    if (current.kind !== "done" || current.value.metadata.resourceVersion !== wanted.object.metadata.resourceVersion)
      return;
    await this.#try(wanted, attempt + 1);
  }
}
