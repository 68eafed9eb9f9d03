import { environmentOf, powershellWord } from "./environment.ts";
import { installPs1 } from "./generated/install-ps1.ts";
import { delegateName, type InstallValues } from "./values.ts";

/** The installer for Windows with this delegate's settings in it; `initScript` is PowerShell there. */
export function renderPowershell(values: InstallValues): string {
  const { id, token = "", caCertificate = "", initScript = "" } = values;
  const settings = [
    `$Name = ${powershellWord(delegateName(id))}`,
    `$Token = ${powershellWord(token)}`,
    `$Ca = ${powershellWord(caCertificate.trimEnd())}`,
    `$Init = ${powershellWord(initScript)}`,
    `$Environment = @(\n${environmentOf(values)
      .map((pair) => `  ${powershellWord(pair.join("="))}`)
      .join(",\n")}\n)`,
  ];
  return installPs1.replace("# SETTINGS\n", () => `${settings.join("\n")}\n`);
}
