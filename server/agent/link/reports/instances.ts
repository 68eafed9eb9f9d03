import type { Schemas } from "../../../../openapi/client.ts";
import { defined } from "../deliveries/spec.ts";

type Instances = NonNullable<Schemas["ApplicationStatus"]["instances"]>;
type Workload = Schemas["Workload"];
// biome-ignore lint/suspicious/noExplicitAny: written by a controller that need not be ours; each field is looked at before it is used.
type Loose = any;

const MOST = 50;
const MOST_IMAGES = 10;

/** The workloads of an application with the sums of their Pods; nothing where the controller does not tell. */
export function toInstances(workloads: Loose): Instances | undefined {
  if (!Array.isArray(workloads)) return undefined;
  const known = workloads.filter((one) => typeof one?.kind === "string" && typeof one?.name === "string");
  const shown = known.slice(0, MOST).map(toWorkload);
  const sum = (of: (one: Workload) => number) => shown.reduce((all, one) => all + of(one), 0);
  return { ready: sum(({ ready }) => ready), total: sum(({ total }) => total), workloads: shown };
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const number = (value: unknown): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? Math.min(value, 1_000_000) : 0;

function toWorkload({ group, kind, namespace, name, version, images, ready, total }: Loose): Workload {
  const list = Array.isArray(images) ? images.filter((one) => typeof one === "string").slice(0, MOST_IMAGES) : [];
  return defined({
    group: text(group),
    kind,
    namespace: text(namespace),
    name,
    version: text(version),
    images: list.length ? list : undefined,
    ready: number(ready),
    total: number(total),
  }) as unknown as Workload;
}
