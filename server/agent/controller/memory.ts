import type { Failure } from "../../base/outcome.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { SourceType } from "../repo/types.ts";
import { Verdicts } from "./compare/compare.ts";
import type { Normalised } from "./compare/normalise.ts";

/**
 * What is remembered of an application between two reconciliations. All of it can be rebuilt. Times ending in `At` use the deps' clock,
 * unless they say otherwise. Only `update` writes a field.
 *
 * | field                     | written by                                                      | cleared by                                  |
 * |---------------------------|-----------------------------------------------------------------|---------------------------------------------|
 * | `wanted`                  | fetch: rendered                                                 | changed settings of the namespace           |
 * | `failure`                 | fetch: refused or failed                                        | fetch: rendered; changed repositories       |
 * | `askedAt`                 | fetch: Git was asked; survey: its repository was                | survey: had no answer; changed repositories |
 * | `askingAt`                | fetch: a question begins                                        | –                                           |
 * | `newsAt`                  | the watch: the application changed                              | –                                           |
 * | `refreshAt`               | the watch: a refresh is asked for that a survey answers         | fetch: used                                 |
 * | `surveyedAt`, `found`     | survey: its repository was asked; other objects are to come     | `found`: fetch: used                        |
 * | `hardAt`                  | fetch: first look, or everything is rendered again              | –                                           |
 * | `orphans`, `orphansAt`    | fetch: the project wants to know of orphans                     | the project no longer does                  |
 * | `ignoring`, `verdicts`    | observe: the rules for differences changed                      | –                                           |
 * | `unlabelled`              | observe: looked up                                              | observe: not from memory; sync: it has run  |
 * | `leftOut`                 | observe                                                         | –                                           |
 * | `begunAt`                 | decide: this program begins an operation                        | –                                           |
 */
export interface Memory {
  readonly wanted?: Wanted | undefined;
  /** Verdicts hold for these rules alone. */
  readonly ignoring: string;
  readonly verdicts: Verdicts;
  /** When Git was asked last. */
  readonly askedAt: number;
  /** By the process's clock: when the application was last seen with something new in it, and when the last question to Git began. */
  readonly newsAt: number;
  readonly askingAt: number;
  /** By the process's clock: when a refresh was asked for, and when the look at its repository began that answered last. */
  readonly refreshAt?: number | undefined;
  readonly surveyedAt: number;
  /** Commits of the sources as a survey has found them, where they make other objects: to be rendered at once. */
  readonly found?: string[] | undefined;
  /** The last failure: since when it lasts, and how often it occurred. */
  readonly failure?: { failure: Failure; sourceDigest: string; since: number; times: number } | undefined;
  /** Objects that exist without our label, by key: looked up one by one, for applications that do not sync by themselves. */
  readonly unlabelled: Map<string, KubeObject | undefined>;
  /** When the running operation began, if this program began it. */
  readonly begunAt?: string | undefined;
  /** Whether it has objects of kinds that cannot be watched: it asks for them by the clock. */
  readonly leftOut?: boolean | undefined;
  /** When everything was rendered again last, or the first look was. */
  readonly hardAt?: number | undefined;
  /** Objects of the namespace that belong to no application, where the project wants to know. */
  readonly orphans?: string[] | undefined;
  readonly orphansAt: number;
}

/** What Git says, as far as it is known. */
export interface Wanted {
  sourceDigest: string;
  key: string;
  /** Of each source, in order. */
  revisions: string[];
  sourceTypes: (SourceType | "")[];
  destination: string;
  /** The settings at that time: they say how objects are marked, and which kinds are excluded. */
  settings: string;
  normalised: Normalised;
}

const newMemory = (): Memory => ({
  verdicts: new Verdicts(),
  askedAt: 0,
  newsAt: Number.NEGATIVE_INFINITY,
  askingAt: Number.NEGATIVE_INFINITY,
  surveyedAt: Number.NEGATIVE_INFINITY,
  orphansAt: 0,
  unlabelled: new Map(),
  ignoring: "",
});

/** The memories of all applications. */
interface Memories {
  readonly memory: Map<string, Memory>;
}

/** The only setter of the memory. */
export function update(memory: Memory, change: Partial<Memory>): void {
  Object.assign(memory, change);
}

/** The memory of an application, new when it has none. */
export function remember({ memory }: Memories, name: string): Memory {
  let known = memory.get(name);
  if (!known) {
    known = newMemory();
    memory.set(name, known);
  }
  return known;
}

/** Forgets refusals: the next look at an application asks again. False when nothing was refused. */
export function askAgain({ memory }: Memories, name: string): boolean {
  const known = memory.get(name);
  if (!known?.failure) return false;
  update(known, { failure: undefined, askedAt: 0 });
  return true;
}
