import { repository as noun } from "../../generated/repository.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { attr, root } from "../../value/path.ts";
import { stringField, type ValueMap } from "../../value/value.ts";
import { judgeDelivered } from "../../wait/delivered.ts";
import { known } from "../checks.ts";
import { validateSignIn } from "../credentials/sign-in.ts";
import { createResource } from "../crud/resource.ts";

export const repository = createResource(noun, { validate, judge: judgeDelivered("url") });

function validate(config: ValueMap, diagnostics: Diagnostics): void {
  validateSignIn(config, diagnostics);
  const type = stringField(config, "type");
  if (type === undefined || type === "git") return;
  for (const name of ["enable_lfs", "submodules", "depth"])
    if (known(config, name) && config.get(name) !== false && config.get(name) !== 0)
      diagnostics.error("Only for Git", `\`${name}\` has no meaning with \`type = "${type}"\`.`, attr(root, name));
}
