import type { Fault } from "../../../openapi/contract/validators.js";
import * as validators from "../../../openapi/contract/validators.js";
import { inWords } from "../../../openapi/rules/messages/patterns.ts";
import { paramFaults } from "../../../openapi/rules/tasks/params.ts";
import { escapePointer } from "../../base/json/json.ts";
import type { Schemas } from "./nouns.ts";
import { invalid, Problem } from "./problem.ts";

type Kind = Schemas["TaskKind"];
type Check = ((value: unknown) => boolean) & { errors?: Fault[] | null };

/** `git.clone` → TaskParamsGitClone. */
const schemaName = (kind: Kind) =>
  `TaskParams${kind
    .split(".")
    .map((part) => part[0]!.toUpperCase() + part.slice(1))
    .join("")}`;

/** Refuses parameters that the kind cannot run with, before anything waits for them: schema, rules between fields, references. */
export function checkParams(kind: Kind, params: Record<string, unknown>, at = "/params"): void {
  const [said] = paramFaults(kind, params);
  if (said) throw invalid(`${at}${said.pointer}`, said.detail);
  const [fault] = schemaFaults(kind, params);
  if (fault) throw unfit(kind, fault, at);
}

/** What the kind's schema says of parameters. */
export function schemaFaults(kind: Kind, params: unknown): readonly Fault[] {
  const check = (validators as unknown as Record<string, Check>)[`validate${schemaName(kind)}`]!;
  return check(params) ? [] : (check.errors ?? []);
}

/** A fault with its place. */
export function unfit(kind: Kind, fault: Fault, at: string): Problem {
  const member = fault.params.missingProperty ?? fault.params.additionalProperty ?? fault.params.unevaluatedProperty;
  return new Problem(
    "invalid_field",
    `The parameters do not fit ${kind}: ${inWords(fault.message ?? "see the contract")}.`,
    {
      pointer: `${at}${fault.instancePath}${typeof member === "string" ? `/${escapePointer(member)}` : ""}`,
    },
  );
}
