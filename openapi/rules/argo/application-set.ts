import { globFault, regexFault } from "../expressions.ts";
import {
  type Check,
  type Fault,
  isObject,
  isText,
  type Json,
  objectIn,
  objectsIn,
  step,
  textFault,
  textFaults,
} from "../fault.ts";
import { GENERATOR_FIELDS, TEMPLATE_FIELDS, unknownFields } from "../fields.ts";
import { labelFaults, selectorFaults } from "../labels.ts";
import { goTemplateFault, isTemplate, plainTemplateFault } from "../template/template.ts";
import { applicationFaults, ignoreFaults } from "./application.ts";

/** A template nests as deep as an Application does; deeper ones are for the schema. */
const DEPTH = 40;
const unless = (check: Check) => (text: string) => (isTemplate(text) ? undefined : check(text));

/** Errors in the texts and names of a set: unknown fields, templates, patterns and the fields of its applications. */
export function setFaults(spec: Json): Fault[] {
  const check = spec.goTemplate === false ? plainTemplateFault : goTemplateFault;
  const generators = Array.isArray(spec.generators) ? spec.generators : [];
  return [
    ...generators.flatMap((one, i) => generatorFaults(one, `/generators/${i}`, { check, child: false })),
    ...templateFaults(spec.template, "/template", check),
    ...(spec.goTemplate === false ? [] : textFault(spec, "templatePatch", "", goTemplateFault)),
    ...objectsIn(spec, "ignoreApplicationDifferences", "").flatMap(([rule, at]) => ignoreFaults(rule, at)),
  ];
}

interface How {
  check: Check;
  /** Of a matrix or merge: its texts are filled in with what the others give. */
  child: boolean;
}

function generatorFaults(entry: unknown, at: string, how: How): Fault[] {
  if (!isObject(entry) || at.length > 200) return [];
  const faults = selectorFaults(entry.selector, `${at}/selector`, isTemplate);
  for (const [name, fields] of Object.entries(GENERATOR_FIELDS)) {
    const settings = entry[name];
    if (!isObject(settings)) continue;
    const here = `${at}/${name}`;
    const { template, generators, elements: _, ...own } = settings;
    faults.push(
      ...unknownFields({ ...own, ...(settings.elements === undefined ? {} : { elements: [] }) }, fields, here),
    );
    faults.push(...formFaults(name, settings, here));
    faults.push(...texts(how.child ? own : { values: settings.values }, here, how.check, 0));
    if (template !== undefined) faults.push(...templateFaults(template, `${here}/template`, how.check));
    if (Array.isArray(generators) && (name === "matrix" || name === "merge"))
      faults.push(
        ...generators.flatMap((one, i) => generatorFaults(one, `${here}/generators/${i}`, { ...how, child: true })),
      );
  }
  return faults;
}

const MATCHES = ["repositoryMatch", "labelMatch", "branchMatch", "targetBranchMatch", "titleMatch"];

function formFaults(name: string, settings: Json, at: string): Fault[] {
  if (name === "clusters") return selectorFaults(settings.selector, `${at}/selector`, isTemplate);
  if (name === "clusterDecisionResource")
    return selectorFaults(settings.labelSelector, `${at}/labelSelector`, isTemplate);
  if (name === "git")
    return ["directories", "files"].flatMap((list) =>
      objectsIn(settings, list, at).flatMap(([one, here]) => textFault(one, "path", here, unless(pathFault))),
    );
  return objectsIn(settings, "filters", at).flatMap(([one, here]) =>
    MATCHES.flatMap((field) => textFault(one, field, here, unless(regexFault))),
  );
}

const pathFault = (text: string) => globFault(text, false);

function templateFaults(template: unknown, at: string, check: Check): Fault[] {
  if (!isObject(template)) return [];
  const metadata = objectIn(template, "metadata");
  return [
    // Fields beside `metadata` and `spec` are refused with the set's other rules.
    ...unknownFields({ metadata: template.metadata, spec: template.spec }, TEMPLATE_FIELDS, at),
    ...texts(template, at, check, 0),
    ...labelFaults(objectIn(metadata, "labels"), `${at}/metadata/labels`, isTemplate),
    ...applicationFaults(objectIn(template, "spec"), `${at}/spec`, isTemplate),
    ...textFaults(metadata, "finalizers", `${at}/metadata`, (text) =>
      text.trim() === "" ? "A finalizer must not be empty." : undefined,
    ),
  ];
}

/** The faults of every text and name below a value. */
function texts(value: unknown, at: string, check: Check, depth: number): Fault[] {
  if (isText(value)) {
    const detail = check(value);
    return detail === undefined ? [] : [{ pointer: at, detail }];
  }
  if (depth > DEPTH || value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, one]) => {
    const here = `${at}${step(name)}`;
    const detail = Array.isArray(value) ? undefined : check(name);
    return [...(detail === undefined ? [] : [{ pointer: here, detail }]), ...texts(one, here, check, depth + 1)];
  });
}
