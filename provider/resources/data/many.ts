import type { Client } from "../../client/client.ts";
import { listObjects } from "../../client/pages.ts";
import { report } from "../../client/problem.ts";
import { listing } from "../../generated/listing.ts";
import type { DataSource } from "../../protocol/provider.ts";
import type { Attribute, Attributes } from "../../schema/attribute.ts";
import { stringField, type Value } from "../../value/value.ts";
import { checkScope } from "../checks.ts";
import type { Noun } from "../noun.ts";
import { noSuch } from "../references/missing.ts";
import { fromSpec } from "../spec.ts";

/** Objects of one data source. A plan and a state hold each of them, and a person cannot read more in a plan. */
const MOST = 1_000;

interface Summary {
  readonly id: string;
  readonly org?: string;
  readonly project?: string;
}

/** The data source that lists the objects of a noun in short. */
export function createList(noun: Noun): DataSource<Client> {
  const attributes: Attributes = { ...scopeOf(noun), limit, ...listing };
  const many = noun.many!.replace(/^outpost_/, "").replaceAll("_", " ");
  return {
    schema: {
      description: `Lists ${many} in short. They are read at each plan, and what has changed since, such as a health, changes the plan of what depends on it. Name in \`depends_on\` what this configuration creates and they are to have.`,
      attributes,
    },
    validate: checkScope,
    read: async (config, context) => {
      const given = config.get("limit") ?? null;
      const [org, project] = [stringField(config, "org"), stringField(config, "project")];
      const client = await context.client();
      const reply = await listObjects<Summary>(
        client,
        {
          scope: { collection: noun.collection, org, project },
          query: queryOf(config.get("inherited") ?? null, stringField(config, "filter"), stringField(config, "sort")),
          most: given === null ? MOST : Number(given),
        },
        { deadline: Date.now() + 60_000, signal: context.signal },
      );
      if (!reply.ok) {
        // A list is there whenever its scope is.
        if (reply.status === 404 && org)
          context.diagnostics.error("Not found", await noSuchScope(client, org, project, context.signal), [
            { attr: project ? "project" : "org" },
          ]);
        else report(context.diagnostics, `Listing ${many}`, reply.problem, attributes);
        return null;
      }
      const { items, more } = reply.body;
      if (more && given === null) {
        context.diagnostics.error(
          "Too many objects",
          `There are more than ${MOST.toLocaleString("en")} such ${many}. Narrow them with \`filter\`, such as \`labels.team=shop\`, or take the first with \`limit\`.`,
          [{ attr: config.get("filter") ? "filter" : "limit" }],
        );
        return null;
      }
      return new Map<string, Value>([
        ...[...config].filter(([name]) => attributes[name]?.presence === "optional"),
        ["ids", items.map(({ id }) => id)],
        ["items", items.map((item) => fromSpec(listing.items!.attributes!, { ...COMMON, ...item }, null))],
      ]);
    },
  };
}

const noSuchScope = (client: Client, org: string, project: string | undefined, signal: AbortSignal): Promise<string> =>
  project
    ? noSuch(client, "project", { collection: "projects", id: project, org }, signal)
    : noSuch(client, "organization", { collection: "organizations", id: org }, signal);

/** What a summary leaves out because most objects have it. */
const COMMON = { origin: "managed", labels: {} };

const limit: Attribute = {
  type: "number",
  presence: "optional",
  description: `Take at most so many: the first in the order of \`sort\`. None means all, and more than ${MOST.toLocaleString("en")} are an error.`,
  rules: { integer: true, minimum: 1, maximum: MOST },
};

function scopeOf({ schema: { attributes } }: Noun): Attributes {
  const argument = (name: "org" | "project", description: string): Attributes => {
    const of = attributes[name];
    return of
      ? { [name]: { type: "string", presence: "optional", description, ...(of.rules ? { rules: of.rules } : {}) } }
      : {};
  };
  return {
    ...argument("org", "The organisation that they are in; none means the account itself."),
    ...argument("project", "The project within `org`."),
  };
}

const queryOf = (inherited: Value, filter: string | undefined, sort: string | undefined): Record<string, string> => ({
  view: "summary",
  ...(inherited === true ? { inherited: "true" } : {}),
  ...(filter ? { filter } : {}),
  ...(sort ? { sort } : {}),
});
