import type { Command } from "commander";
import { usage } from "../../output/failure.ts";
import type { Session } from "../../session/session.ts";
import type { Json } from "../../show.ts";
import { manyOf, type Noun } from "../nouns.ts";
import { allOf } from "./all.ts";

/** How a command names several objects at once. */
export interface Selection {
  selector?: string;
  filter?: string;
  all?: boolean;
}

export const SELECTOR = [
  "-l, --selector <labels>",
  "only those with these labels, such as `team=shop,env!=dev,tier in (a,b)`",
] as const;
export const FILTER = [
  "--filter <terms>",
  "terms that must all hold, such as `health!=Healthy,id~web,agent in (a,b),labels.team=shop`",
] as const;

/** Only applications and sets have labels of their own. */
export const hasLabels = (noun: Noun): boolean => noun.word === "app" || noun.word === "appset";

/** The flags by which a command takes several objects. */
export function selectFlags(command: Command, noun: Noun): Command {
  if (hasLabels(noun)) command.option(...SELECTOR);
  return command.option(...FILTER).option("--all", "every one of the scope (--org, --project)");
}

/** The ids that a person named, or those that the flags choose. `app/web`, as `-o name` writes it, is `web`. */
export async function chosen(s: Session, noun: Noun, ids: string[], flags: Selection): Promise<string[]> {
  const byFlags = flags.all || flags.filter !== undefined || flags.selector !== undefined;
  if (ids.length > 0 && byFlags) throw usage("give either ids, or --selector, --filter or --all");
  if (ids.length > 0) return [...new Set(ids.map((id) => bareId(noun, id)))];
  if (!byFlags)
    throw usage(
      `missing required argument 'id': give one or more ids, ${hasLabels(noun) ? "-l LABELS, " : ""}--filter or --all`,
    );
  const objects = await allOf(await s.api(), noun, { filter: filterOf(flags) });
  if (objects.length === 0) throw usage(`no ${manyOf(noun)} fit`);
  return objects.map(({ id }: Json) => id as string);
}

export function bareId(noun: Noun, text: string): string {
  const at = text.indexOf("/");
  return at > 0 && [noun.word, ...noun.alias].includes(text.slice(0, at)) ? text.slice(at + 1) : text;
}

/** `--selector` and `--filter` as one filter of the service. */
export function filterOf({ selector, filter }: Selection): string | undefined {
  const terms = [...(selector === undefined ? [] : labelTerms(selector)), ...(filter ? [filter] : [])];
  return terms.length ? terms.join(",") : undefined;
}

const TERM =
  /^(!?)([A-Za-z0-9][A-Za-z0-9._/-]*)(?:\s*(==|=|!=)\s*([A-Za-z0-9._-]*)|\s+(in|notin|not in)\s*\(([^()]*)\))?$/;

/** A label selector of kubectl as terms of a filter. */
export function labelTerms(text: string): string[] {
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  return parts.map((part) => {
    const [, not, key, sign, value, among, list] = TERM.exec(part) ?? [];
    if (!key || (not && (sign || among)))
      throw usage(
        `--selector takes labels such as \`team=shop,env!=dev,tier in (a,b),!old\`, not ${JSON.stringify(text)}`,
      );
    const field = `labels.${key}`;
    if (sign) return `${field}${sign === "!=" ? "!=" : "="}${value}`;
    if (among) return `${field} ${among === "in" ? "in" : "not in"} (${list})`;
    return `${field} ${not ? "missing" : "exists"}`;
  });
}
