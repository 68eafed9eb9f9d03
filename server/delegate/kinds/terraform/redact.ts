const HIDDEN = "(sensitive value)";

// biome-ignore lint/suspicious/noExplicitAny: the JSON form of a plan is a document of many parts, each checked where it is used.
type Loose = any;

/** A plan's JSON form without what Terraform knows to be sensitive: of variables, resources and outputs, in changes and in states. */
export function redactPlan(plan: Loose): Loose {
  const variables = plan.configuration?.root_module?.variables ?? {};
  const secret = (name: string) => variables[name]?.sensitive === true;
  return {
    ...plan,
    ...(plan.variables
      ? { variables: mapped(plan.variables, (one, name) => (secret(name) ? { ...one, value: HIDDEN } : one)) }
      : {}),
    ...(plan.planned_values ? { planned_values: state(plan.planned_values) } : {}),
    ...(plan.prior_state ? { prior_state: { ...plan.prior_state, values: state(plan.prior_state.values) } } : {}),
    ...(plan.resource_changes ? { resource_changes: plan.resource_changes.map(changed) } : {}),
    ...(plan.resource_drift ? { resource_drift: plan.resource_drift.map(changed) } : {}),
    ...(plan.output_changes ? { output_changes: mapped(plan.output_changes, (one) => change(one)) } : {}),
    ...(plan.configuration ? { configuration: configuration(plan.configuration) } : {}),
  };
}

const mapped = (members: Record<string, Loose>, each: (member: Loose, name: string) => Loose) =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, each(member, name)]));

const changed = (one: Loose) => ({ ...one, change: change(one.change) });

const change = (one: Loose) => ({
  ...one,
  ...("before" in one ? { before: hide(one.before, one.before_sensitive) } : {}),
  ...("after" in one ? { after: hide(one.after, one.after_sensitive) } : {}),
});

/** `marks` has the form of the value, with true where it is sensitive. */
export function hide(value: Loose, marks: Loose): Loose {
  if (marks === true) return value === null || value === undefined ? value : HIDDEN;
  if (value === null || typeof value !== "object" || marks === null || typeof marks !== "object") return value;
  if (Array.isArray(value)) return value.map((item, i) => hide(item, marks[i]));
  return mapped(value, (member, name) => hide(member, marks[name]));
}

function state(values: Loose): Loose {
  if (!values) return values;
  const outputs = values.outputs && mapped(values.outputs, (one) => (one.sensitive ? { ...one, value: HIDDEN } : one));
  return {
    ...values,
    ...(outputs ? { outputs } : {}),
    ...(values.root_module ? { root_module: module(values.root_module) } : {}),
  };
}

const module = (one: Loose): Loose => ({
  ...one,
  ...(one.resources
    ? {
        resources: one.resources.map((resource: Loose) => ({
          ...resource,
          values: hide(resource.values, resource.sensitive_values),
        })),
      }
    : {}),
  ...(one.child_modules ? { child_modules: one.child_modules.map(module) } : {}),
});

/** A sensitive variable may have a default. */
function configuration(config: Loose): Loose {
  const root = config.root_module;
  if (!root?.variables) return config;
  const variables = mapped(root.variables, (one) =>
    one.sensitive && "default" in one ? { ...one, default: HIDDEN } : one,
  );
  return { ...config, root_module: { ...root, variables } };
}
