import { globFault } from "../expressions.ts";
import { type Fault, type Json, objectIn, objectsIn, quoted, textFault, textFaults } from "../fault.ts";
import { labelFaults, selectorTextFault } from "../labels.ts";

/** A text that Argo CD fills in before it is used, as `$ARGOCD_APP_NAME`. */
const filled = (text: string): boolean => text.includes("$");

/** Errors in the texts of a source: images, parameters, versions, patterns. `skip` texts are known only later. */
export function sourceFaults(source: Json, at: string, skip: (text: string) => boolean): Fault[] {
  const unless = (check: (text: string) => string | undefined) => (text: string) =>
    skip(text) || filled(text) ? undefined : check(text);
  const [helm, kustomize, directory] = [
    objectIn(source, "helm"),
    objectIn(source, "kustomize"),
    objectIn(source, "directory"),
  ];
  const faults: Fault[] = [];
  for (const name of ["include", "exclude"])
    faults.push(...textFault(directory, name, `${at}/directory`, unless(patternFault)));
  faults.push(...textFault(helm, "kubeVersion", `${at}/helm`, unless(kubeVersionFault)));
  faults.push(...textFaults(helm, "apiVersions", `${at}/helm`, unless(apiVersionFault)));
  for (const list of ["parameters", "fileParameters"])
    for (const [one, here] of objectsIn(helm, list, `${at}/helm`))
      faults.push(...textFault(one, "name", here, unless(parameterFault)));
  faults.push(...textFaults(kustomize, "images", `${at}/kustomize`, unless(imageFault)));
  faults.push(
    ...labelFaults(
      objectIn(kustomize, "commonLabels"),
      `${at}/kustomize/commonLabels`,
      (text) => skip(text) || filled(text),
    ),
  );
  for (const [patch, here] of objectsIn(kustomize, "patches", `${at}/kustomize`))
    for (const name of ["labelSelector", "annotationSelector"])
      faults.push(...textFault(objectIn(patch, "target"), name, `${here}/target`, unless(selectorTextFault)));
  return faults;
}

/** `include` and `exclude` may be empty: then all files count, or none is left out. */
const patternFault = (text: string) => (text === "" ? undefined : globFault(text));

/** An override of an image: `[name=]image[:tag][@digest]`. */
export function imageFault(text: string): string | undefined {
  const wrong = (what: string) =>
    `The image ${quoted(text)} cannot be read: ${what}. Write \`name=image:tag\`, for example \`nginx=registry.example/nginx:1.27\`.`;
  if (/\s/.test(text)) return wrong("it has a blank");
  if (/^[a-z]+:\/\//i.test(text.slice(text.indexOf("=") + 1))) return wrong("an image has no `https://` in front");
  if (text === "" || text.startsWith("=") || text.endsWith("=")) return wrong("one side of `=` is empty");
  if (text.split("=").length > 2) return wrong("there is more than one `=`");
  if (/[:@]$/.test(text)) return wrong("nothing follows the last sign");
  const digest = /@(.*)$/.exec(text)?.[1];
  if (digest !== undefined && !/^[a-z0-9]+([+._-][a-z0-9]+)*:[0-9a-fA-F]{32,}$/.test(digest))
    return wrong("what follows `@` is a digest such as `sha256:` with its 64 digits");
  return undefined;
}

/** The name of a Helm parameter, as `--set` takes it. */
export function parameterFault(text: string): string | undefined {
  const wrong = (what: string) =>
    `The parameter name ${quoted(text)} cannot be read: ${what}. Write a path such as \`ingress.hosts[0].name\`; a dot inside a name is \`\\.\`.`;
  const plain = text.replace(/\\./g, "x");
  if (plain.includes("=")) return wrong("`=` separates a name from its value: give the value in `value`");
  if (plain.includes(",")) return wrong("`,` separates parameters: give each its own entry, or write `\\,`");
  if (/^\.|\.$|\.\./.test(plain)) return wrong("a part between two dots is empty");
  if (/[[\]]/.test(plain.replace(/\[[0-9]+\]/g, ""))) return wrong("`[` and `]` hold a number");
  return undefined;
}

function kubeVersionFault(text: string): string | undefined {
  return text === "" || /^v?\d+(\.\d+){0,2}([-+][0-9A-Za-z.+-]+)?$/.test(text)
    ? undefined
    : `${quoted(text)} is not a Kubernetes version: write \`1.31\` or \`v1.31.2\`.`;
}

function apiVersionFault(text: string): string | undefined {
  return /^([a-z0-9.-]+\/)?v?[0-9]\w*(\/[A-Za-z0-9]+)?$/.test(text)
    ? undefined
    : `${quoted(text)} is not an API version: write \`networking.k8s.io/v1\` or \`apps/v1/Deployment\`.`;
}
