export type Labels = Record<string, string>;

export interface LabelSelector {
  matchLabels?: Record<string, string> | null;
  matchExpressions?: { key: string; operator: string; values?: string[] | null }[] | null;
}

/**
 * A label selector as a question, or what is wrong with it. It also takes values that no label may have, such as the address of a cluster. One
 * that is empty fits everything.
 */
export function labelTest(selector: LabelSelector | null | undefined): ((labels: Labels) => boolean) | string {
  const tests: ((labels: Labels) => boolean)[] = [];
  const has = (labels: Labels, key: string) => Object.hasOwn(labels, key);
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {}))
    tests.push((labels) => has(labels, key) && labels[key] === value);
  for (const { key, operator, values: given } of selector?.matchExpressions ?? []) {
    const values = given ?? [];
    if ((operator === "In" || operator === "NotIn") && values.length === 0)
      return `for "${operator}" the values of ${key} must not be empty`;
    if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0)
      return `for "${operator}" the values of ${key} must be empty`;
    if (operator === "In") tests.push((labels) => has(labels, key) && values.includes(labels[key]!));
    else if (operator === "NotIn") tests.push((labels) => !has(labels, key) || !values.includes(labels[key]!));
    else if (operator === "Exists") tests.push((labels) => has(labels, key));
    else if (operator === "DoesNotExist") tests.push((labels) => !has(labels, key));
    else return `${JSON.stringify(operator)} is not a valid label selector operator`;
  }
  return (labels) => tests.every((test) => test(labels));
}
