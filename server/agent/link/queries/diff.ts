import { randomBytes } from "node:crypto";
import type { Path } from "../../../base/jq/jq.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { inParallel } from "../../../base/process/parallel.ts";
import { KUBE } from "../../../kube/errors.ts";
import { gvkOf, type KubeObject, keyOf } from "../../../kube/object.ts";
import { type Application, META, type ResourceStatus, revisionsOf } from "../../controller/application.ts";
import { trim } from "../../controller/cluster/live.ts";
import { isShown } from "../../controller/cluster/resource-membership.ts";
import { comparing, countedOf } from "../../controller/compare/compare.ts";
import type { CompareTarget } from "../../controller/compare/normalise.ts";
import { csv, hookOf } from "../../controller/order.ts";
import { isSameAtSight, sidesOf } from "../../controller/phases/verdict.ts";
import { belongs } from "../../controller/projects.ts";
import { toTargets } from "../../controller/render.ts";
import type { Rendered } from "../../repo/types.ts";
import { asAsked } from "./asked-sources.ts";
import { differing, fieldAt, lacking, overlay } from "./fields.ts";
import { masked, toYaml } from "./mask.ts";
import { desired, type ReadOnlyContext, withReadOnlyContext } from "./read-only-context.ts";
import { objectOf, type Read } from "./task.ts";

// An answer is one result of a task; longer texts are not useful to a reader.
const MAX_TEXT = 4 * 1024 * 1024;
const PARALLEL = 8;
const MAX_FIELDS = 200;

type Item = Record<string, unknown>;

/** Git against live: what a sync would change, now or to another revision or entry of the history, by the verdict of the controller. */
export const applicationDiff: Read = async (tc, task) => {
  const found = await objectOf(tc, task, "applications");
  if (found.kind !== "done") return found;
  const asked = asAsked(found.value as Application, task.params.history);
  if (asked.kind !== "done") return asked;
  const { revision: other } = task.params;
  return withReadOnlyContext(tc, asked.value, async (readOnlyContext): Promise<Outcome<Item>> => {
    const rendered = await desired(readOnlyContext, typeof other === "string" ? other : undefined);
    if (rendered.kind !== "done") return rendered;
    const { targets } = await toTargets(readOnlyContext.app, readOnlyContext.destination, rendered.value.objects ?? []);
    // Values are compared within one answer only.
    const look = new Look(readOnlyContext, rendered.value, randomBytes(16).toString("hex"));
    const compared = targets.filter((target) => !target.hook);
    const wanted = new Set(targets.map((target) => target.key));
    const extra = (readOnlyContext.app.status?.resources ?? []).filter((row) => !wanted.has(keyOfRow(row)));
    const items: Item[] = [];
    const outcomes = [
      ...(await inParallel(compared, (target) => look.target(target), PARALLEL)),
      ...(await inParallel(extra, (row) => look.extra(row), PARALLEL)),
    ];
    for (const outcome of outcomes) {
      if (outcome.kind !== "done") return outcome;
      if (outcome.value) items.push(outcome.value);
    }
    if (JSON.stringify(items).length > MAX_TEXT) return stop("AnswerTooLarge", "the differences have more than 4 MB");
    const { revision, revisions } = rendered.value;
    return done({ revision, revisions, items });
  });
};

class Look {
  readonly #readOnlyContext: ReadOnlyContext;
  readonly #salt: string;
  /** The controller has compared these very commits: then it is known what it found. */
  readonly #compared: boolean;

  constructor(readOnlyContext: ReadOnlyContext, { revisions }: Rendered, salt: string) {
    this.#readOnlyContext = readOnlyContext;
    this.#salt = salt;
    this.#compared = revisionsOf(readOnlyContext.app.status?.sync).join() === revisions.join();
  }

  /** One object that Git describes. */
  async target(target: CompareTarget): Promise<Outcome<Item | undefined>> {
    const { app, destination } = this.#readOnlyContext;
    const { client, settings } = destination;
    const wish = () => this.#yaml(target.object);
    // A sync of it is refused with that message, so it changes nothing.
    if (destination.refuse?.(target.object, target.resource)) return done(undefined);
    if (!target.resource) return done(entry(target.object, "create", { desired: wish() }));
    const { namespace, name } = target.object.metadata;
    const got = await client.get(target.resource, namespace, name);
    if (got.kind !== "done")
      return got.reason === KUBE.notFound ? done(entry(target.object, "create", { desired: wish() })) : got;
    const live = got.value;
    // Objects of another application, or out of the account's sight, are not shown.
    if (!(await isShown(app, destination, live))) return done(entry(target.object, "update", { desired: wish() }));
    if (isSameAtSight(target, trim(live), { app, settings })) return done(undefined);
    const tried = await sidesOf(client, target, live, { app, settings });
    if (tried.kind === "done") {
      const paths = differing(tried.value.live, tried.value.next);
      return done(paths.length ? this.#update(live, tried.value.live, tried.value.next, paths) : undefined);
    }
    if (tried.kind === "again") return tried;
    const row = app.status?.resources?.find((one) => keyOfRow(one) === target.key);
    // A program with fewer rights may not write, not even as a dry run: then the controller's own verdict counts, if it has one of these commits.
    const forbidden = tried.reason === KUBE.forbidden;
    if (forbidden && this.#compared && row?.status === "Synced") return done(undefined);
    const how = comparing(app, settings, target.object);
    const [before, after] = [live, target.object].map((object) =>
      countedOf(object, { live, wanted: target.object }, how),
    ) as [KubeObject, KubeObject];
    const paths = lacking(before, after).slice(0, MAX_FIELDS);
    if (forbidden && !this.#compared && paths.length === 0) return done(undefined);
    return done(this.#update(live, before, after, paths));
  }

  /** One object that the application had and Git does not describe any more. */
  async extra(row: ResourceStatus): Promise<Outcome<Item | undefined>> {
    const { app, destination } = this.#readOnlyContext;
    const kind = await destination.client.discovery.find(row.group ?? "", row.version, row.kind);
    if (kind.kind !== "done") return kind.reason === KUBE.kindNotFound ? done(undefined) : kind;
    const live = await destination.client.get(kind.value, row.namespace, row.name);
    if (live.kind !== "done") return live.reason === KUBE.notFound ? done(undefined) : live;
    const object = live.value;
    const kept =
      !belongs(app, destination)(object) ||
      hookOf(object) ||
      object.metadata.ownerReferences?.some(({ controller }) => controller) ||
      csv(object.metadata.annotations?.[META.compareOptions]).includes("IgnoreExtraneous");
    return done(kept ? undefined : entry(object, "delete", { live: this.#yaml(object) }));
  }

  #update(of: KubeObject, live: KubeObject, next: KubeObject, paths: readonly Path[]): Item {
    const fields = paths.map((path) => fieldAt(of.metadata.managedFields ?? [], live, path));
    return entry(of, "update", { desired: this.#yaml(overlay(live, next, paths)), live: this.#yaml(live) }, fields);
  }

  #yaml(object: KubeObject): string {
    return toYaml(this.#readOnlyContext.reads.hide(masked(object, this.#salt)));
  }
}

const keyOfRow = (row: ResourceStatus): string =>
  keyOf({
    apiVersion: row.group ? `${row.group}/${row.version}` : row.version,
    kind: row.kind,
    metadata: { name: row.name, namespace: row.namespace },
  });

function entry(
  object: KubeObject,
  change: "create" | "update" | "delete",
  texts: { desired?: string; live?: string },
  fields: readonly object[] = [],
): Item {
  const { group, kind } = gvkOf(object);
  const { namespace, name } = object.metadata;
  const where = { ...(group ? { group } : {}), kind, ...(namespace ? { namespace } : {}), name };
  return { ...where, change, ...texts, ...(fields.length ? { fields } : {}) };
}
