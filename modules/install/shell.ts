import { createHash } from "node:crypto";
import { environmentOf, shellWord } from "./environment.ts";
import { installSh } from "./generated/install-sh.ts";
import { delegateName, type InstallValues } from "./values.ts";

/** The installer for Linux with this delegate's settings in it. */
export function renderShell(values: InstallValues): string {
  const { id, token = "", caCertificate = "", initScript = "" } = values;
  const settings = {
    NAME: delegateName(id),
    OWN_USER: userOf(id),
    TOKEN: token,
    CA: caCertificate.trimEnd(),
    INIT: initScript,
    ENVIRONMENT: environmentOf(values)
      .map((pair) => pair.join("="))
      .join("\n"),
  };
  const text = Object.entries(settings)
    .map(([name, value]) => `${name}=${shellWord(value)}`)
    .join("\n");
  return installSh.replace("# SETTINGS\n", () => `${text}\n`);
}

/** A user of its own for each delegate; names of users have at most 32 characters. */
function userOf(id: string): string {
  const name = `outpost-${id}`;
  return name.length <= 31 ? name : `${name.slice(0, 22)}-${createHash("sha256").update(id).digest("hex").slice(0, 8)}`;
}
