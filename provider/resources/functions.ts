import { FunctionFault, type Parameter, type ProviderFunction } from "../protocol/provider.ts";
import { string } from "../value/type.ts";

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const parameter = (name: string, description: string, nullable = false): Parameter => ({
  name,
  type: string,
  description,
  nullable,
});

/** `reference("account", "prod")` → `account.prod`. */
export const reference: ProviderFunction = {
  summary: "A reference to an object of this or a higher scope",
  description:
    'Makes a reference: `reference("account", "prod")` is `account.prod`; with a null scope it is the id itself, which means the same scope.',
  parameters: [
    parameter("scope", "`account`, `org`, or null for the same scope.", true),
    parameter("id", "The id of the object."),
  ],
  returns: string,
  call: ([scope, id]) => {
    if (scope !== null && scope !== "account" && scope !== "org")
      throw new FunctionFault("must be `account`, `org` or null", 0);
    if (!label.test(id as string)) throw new FunctionFault("must be an id: lower-case letters, digits and hyphens", 1);
    return scope === null ? (id as string) : `${scope}.${id as string}`;
  },
};

/** `import_id(null, null, "web")` → `web`. */
export const importId: ProviderFunction = {
  summary: "The import id of an object",
  description: "Makes the id that `terraform import` and `import` blocks take: `[org/[project/]]id`.",
  parameters: [
    parameter("org", "The organisation, or null.", true),
    parameter("project", "The project, or null.", true),
    parameter("id", "The id of the object."),
  ],
  returns: string,
  call: (args) => {
    const [org, project] = args;
    if (project !== null && org === null) throw new FunctionFault("must be null without an organisation", 1);
    for (const [i, part] of args.entries())
      if (part !== null && !label.test(part as string))
        throw new FunctionFault("must be an id: lower-case letters, digits and hyphens", i);
    return args.filter((part) => part !== null).join("/");
  },
};
