import { readYaml } from "../../base/json/nesting.ts";
import { matchGlob } from "../../base/lang/glob.ts";
import { type Customizations, noCustomizations, readCustomizations } from "../../kube/health/custom.ts";
import { Judge } from "../../kube/health/judge.ts";
import type { KubeObject } from "../../kube/object.ts";
import { type LabelSelector, type Labels, labelTest } from "../../kube/selector.ts";
import type { Impersonation } from "../project/project.ts";
import { type IgnoreDifference, META } from "./application.ts";
import { type CompareOptions, readCompareOptions, USUAL_OPTIONS } from "./config/compare-options.ts";
import { type Intervals, readIntervals, USUAL } from "./config/intervals.ts";
import { type KnownField, readKnownFields } from "./config/known-fields.ts";
import { BY_ANNOTATION, METHODS, type Tracking } from "./tracking.ts";

export const RESPECTS = ["off", "normal", "strict"] as const;

/** For a kind that the account may not list: either its objects wait, or the kind is not watched and its objects are read one by one. */
export type RespectRbac = (typeof RESPECTS)[number];

interface Filter {
  apiGroups: string[];
  kinds: string[];
  clusters: string[];
}

// Made by the cluster itself and changed all the time; no application can own them.
const ALWAYS_EXCLUDED: Filter[] = [
  { apiGroups: ["events.k8s.io", "metrics.k8s.io"], kinds: [], clusters: [] },
  { apiGroups: [""], kinds: ["Event"], clusters: [] },
  { apiGroups: ["coordination.k8s.io"], kinds: ["Lease"], clusters: [] },
];
// Kinds times clusters: thousands are never seen.
const MAX_KNOWN = 10_000;
const MAX_GLOBAL = 100;
// The keys of `argocd-cm` that decide what is rendered or how it is compared.
const RELEVANT =
  /^(resource\.(exclusions|inclusions|customizations|compareoptions|respectRBAC)|application\.(sync\.impersonation|resourceTrackingMethod$|instanceLabelKey$)|installationID$|globalProjects$|timeout\..*reconciliation)/;
// A key that the API server accepts: with an invalid one no object could be written.
const LABEL_KEY = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
const COMPARE = "resource.compareoptions";

const IMPERSONATION: Readonly<Record<string, Impersonation>> = { true: "always", false: "off" };

/** A project whose lists hold for all projects with such labels too. */
export interface GlobalProject {
  projectName: string;
  covers(labels: Labels): boolean;
}

/** What `argocd-cm` of our namespace says for all applications; where it cannot be read it says nothing, and `problems` says why. */
export class Settings {
  #exclusions: Filter[] = [];
  #inclusions: Filter[] = [];
  readonly #known = new Map<string, boolean>();
  rules: IgnoreDifference[] = [];
  knownFields: KnownField[] = [];
  /** Health, with the checks that users have written. */
  readonly judge = new Judge();
  /** The actions that users defined for their kinds. */
  custom: Customizations = noCustomizations();
  problems: string[] = [];
  /**
   * Whether the accounts that projects name write. `true` refuses what no account is named for, as Argo CD does; `false` takes the accounts out of
   * force. Without the setting they count where a project names any. None of this concerns tenants, who always need an account.
   */
  impersonation: Impersonation = "where named";
  globalProjects: GlobalProject[] = [];
  tracking: Tracking = BY_ANNOTATION;
  intervals: Intervals = USUAL;
  compares: CompareOptions = USUAL_OPTIONS;
  respectRbac: RespectRbac = "off";
  /** Where else there are Applications and sets of them, by `argocd-cmd-params-cm`: names and patterns. */
  applicationNamespaces: readonly string[] = [];
  setNamespaces: readonly string[] = [];
  /** Changes with the content. */
  revision = "";

  /** True when something has changed. */
  replace(configMaps: readonly KubeObject[]): boolean {
    const params = configMaps.find(({ metadata }) => metadata.name === "argocd-cmd-params-cm")?.data as
      | Record<string, unknown>
      | undefined;
    this.applicationNamespaces = listed(params?.["application.namespaces"]);
    this.setNamespaces = listed(params?.["applicationsetcontroller.namespaces"]);
    const found = configMaps.find(({ metadata }) => metadata.name === "argocd-cm");
    const data = (found?.data ?? {}) as Record<string, unknown>;
    const { intervals, problems } = readIntervals(data);
    this.intervals = intervals;
    const relevant = Object.entries(data).filter(
      (entry): entry is [string, string] => RELEVANT.test(entry[0]) && typeof entry[1] === "string",
    );
    const revision = JSON.stringify(relevant.sort(([a], [b]) => (a < b ? -1 : 1)));
    if (revision === this.revision) return false;
    this.revision = revision;
    this.problems = problems;
    this.#known.clear();
    this.impersonation = IMPERSONATION[String(data["application.sync.impersonation.enabled"])] ?? "where named";
    this.#exclusions = this.#filters(data, "resource.exclusions");
    this.#inclusions = this.#filters(data, "resource.inclusions");
    this.globalProjects = this.#globals(data.globalProjects);
    this.tracking = this.#tracking(data);
    const respects = data["resource.respectRBAC"];
    this.respectRbac = RESPECTS.find((one) => one === respects) ?? "off";
    if (respects && respects !== this.respectRbac)
      this.problems.push("argocd-cm: resource.respectRBAC is neither normal nor strict");
    const compares = readCompareOptions(this.#yaml(COMPARE, data[COMPARE]));
    this.compares = typeof compares === "string" ? USUAL_OPTIONS : compares;
    if (typeof compares === "string") this.problems.push(`argocd-cm: ${COMPARE}: ${compares}`);
    this.rules = this.#customized(data, "ignoreDifferences", (said, group, kind) => read(said, group, kind));
    this.knownFields = this.#customized(data, "knownTypeFields", (said, group, kind, key) =>
      readKnownFields(group, kind, said).flatMap((field) => {
        if (typeof field !== "string") return [field];
        this.problems.push(`argocd-cm: ${key}: ${field}`);
        return [];
      }),
    );
    this.custom = readCustomizations(data);
    this.judge.replace(this.custom);
    this.problems.push(...this.custom.problems.map((problem) => `argocd-cm: ${problem}`));
    return true;
  }

  /** Whether a kind is excluded on a cluster. */
  excludes(group: string, kind: string, server: string): boolean {
    const key = `${group}/${kind}@${server}`;
    const known = this.#known.get(key) ?? this.#judge(group, kind, server);
    if (this.#known.size > MAX_KNOWN) this.#known.clear();
    this.#known.set(key, known);
    return known;
  }

  #judge(group: string, kind: string, server: string): boolean {
    const fits = (filters: readonly Filter[]) => filters.some((filter) => matches(filter, group, kind, server));
    return fits(ALWAYS_EXCLUDED) || fits(this.#exclusions) || (this.#inclusions.length > 0 && !fits(this.#inclusions));
  }

  #filters(data: Record<string, unknown>, key: string): Filter[] {
    const list = this.#yaml(key, data[key]) ?? [];
    if (!Array.isArray(list)) {
      this.problems.push(`argocd-cm: ${key} is not a list`);
      return [];
    }
    return list.map((one) => ({
      apiGroups: texts(one?.apiGroups),
      kinds: texts(one?.kinds),
      clusters: texts(one?.clusters),
    }));
  }

  /** An unreadable one is dropped and reported in every application, because it may have been a denial. */
  #globals(text: unknown): GlobalProject[] {
    const list = this.#yaml("globalProjects", text) ?? [];
    if (!Array.isArray(list) || list.length > MAX_GLOBAL) {
      this.problems.push(`argocd-cm: globalProjects is not a list of up to ${MAX_GLOBAL}`);
      return [];
    }
    return list.flatMap((one, i) => {
      const { projectName, labelSelector } = (one ?? {}) as Record<string, unknown>;
      const covers = isSelector(labelSelector) ? labelTest(labelSelector) : "labelSelector has another shape";
      if (typeof projectName === "string" && projectName && typeof covers !== "string")
        return [{ projectName, covers }];
      const why = typeof covers === "string" ? covers : "it has no projectName";
      this.problems.push(`argocd-cm: globalProjects[${i}] is left out: ${why}`);
      return [];
    });
  }

  /** Unreadable settings count as absent; a missing setting never causes a deletion. */
  #tracking(data: Record<string, unknown>): Tracking {
    const text = (key: string) => (typeof data[key] === "string" ? (data[key] as string).trim() : "");
    const said = text("application.resourceTrackingMethod");
    const method = METHODS.find((one) => one === said);
    if (said && !method)
      this.problems.push(
        `argocd-cm: application.resourceTrackingMethod is none of ${METHODS.join(", ")}: objects are tracked by annotation`,
      );
    const key = text("application.instanceLabelKey");
    const isKey = LABEL_KEY.test(key) && key !== META.app;
    if (key && !isKey)
      this.problems.push(
        `argocd-cm: application.instanceLabelKey is not a name of a label that is free: ${BY_ANNOTATION.labelKey} counts`,
      );
    return {
      method: method ?? BY_ANNOTATION.method,
      labelKey: isKey ? key : BY_ANNOTATION.labelKey,
      installation: text("installationID"),
    };
  }

  /** The customizations of kinds, from an entry for each kind or from the older combined entry; the entry for the kind wins. */
  #customized<T>(
    data: Record<string, unknown>,
    what: "ignoreDifferences" | "knownTypeFields",
    reader: (said: unknown, group: string, kind: string, key: string) => T[],
  ): T[] {
    const prefix = `resource.customizations.${what}.`;
    const entries = Object.entries(data).filter(([key]) => key.startsWith(prefix));
    const own = entries.map(([key, text]): [Kind, unknown, string] => [
      kindOf(key.slice(prefix.length)),
      this.#yaml(key, text),
      key,
    ]);
    const named = new Set(own.map(([{ group, kind }]) => `${group}/${kind}`));
    const older = this.#older(data)
      .filter(([{ group, kind }]) => !named.has(`${group}/${kind}`))
      .map(([kind, all, key]): [Kind, unknown, string] => {
        const said = all?.[what];
        return [kind, typeof said === "string" ? this.#yaml(key, said) : said, key];
      });
    return [...own, ...older].flatMap(([{ group, kind }, said, key]) => reader(said, group, kind, key));
  }

  /** The older form: one text with `group/kind` as keys. */
  #older(data: Record<string, unknown>): [Kind, Record<string, unknown> | undefined, string][] {
    const all = this.#yaml("resource.customizations", data["resource.customizations"]);
    if (typeof all !== "object" || all === null) return [];
    return Object.entries(all as Record<string, Record<string, unknown>>).map(([key, value]) => {
      const [group, kind] = key.includes("/") ? key.split("/") : ["", key];
      return [{ group: group!, kind: kind! }, value ?? undefined, `resource.customizations ${key}`];
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: written by people; each field is looked at before it is used.
  #yaml(key: string, text: unknown): any {
    if (typeof text !== "string" || text.length > 1_000_000) return undefined;
    try {
      return readYaml(text, { maxAliasCount: 10 });
    } catch (error) {
      this.problems.push(`argocd-cm: ${key} is not YAML: ${(error as Error).message.split("\n")[0]}`);
      return undefined;
    }
  }
}

interface Kind {
  group: string;
  kind: string;
}

/** `apps_Deployment`, `Service`, or `all`. */
function kindOf(which: string): Kind {
  if (which === "all") return { group: "*", kind: "*" };
  const parts = which.split("_");
  return { group: parts.slice(0, -1).join("_").replace(/^_/, "*"), kind: parts.at(-1)! };
}

function read(rule: unknown, group: string, kind: string): IgnoreDifference[] {
  if (typeof rule !== "object" || rule === null) return [];
  const { jsonPointers, jqPathExpressions, managedFieldsManagers } = rule as Record<string, unknown>;
  return [
    {
      group,
      kind,
      jsonPointers: texts(jsonPointers),
      jqPathExpressions: texts(jqPathExpressions),
      managedFieldsManagers: texts(managedFieldsManagers),
    },
  ];
}

function matches({ apiGroups, kinds, clusters }: Filter, group: string, kind: string, server: string): boolean {
  const any = (globs: readonly string[], text: string) =>
    globs.length === 0 || globs.some((glob) => matchGlob(glob, text));
  return any(apiGroups, group) && any(kinds, kind) && any(clusters, server);
}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];

/** A list with commas between. */
export const listed = (text: unknown): string[] =>
  typeof text === "string" && text.length <= 100_000
    ? [...new Set(text.split(",").map((one) => one.trim()))].filter(Boolean)
    : [];

function isSelector(value: unknown): value is LabelSelector | undefined {
  if (value === undefined || value === null) return true;
  if (typeof value !== "object" || Array.isArray(value)) return false;
  const { matchLabels, matchExpressions } = value as Record<string, unknown>;
  const isMap =
    matchLabels === undefined ||
    matchLabels === null ||
    (typeof matchLabels === "object" && !Array.isArray(matchLabels));
  const isText = (one: unknown) => typeof one === "string";
  const isTexts = (list: unknown) => list === undefined || list === null || (Array.isArray(list) && list.every(isText));
  const all = matchExpressions ?? [];
  return (
    isMap &&
    Object.values(matchLabels ?? {}).every(isText) &&
    Array.isArray(all) &&
    all.every(
      (one) =>
        typeof one === "object" && one !== null && isText(one.key) && isText(one.operator) && isTexts(one.values),
    )
  );
}
