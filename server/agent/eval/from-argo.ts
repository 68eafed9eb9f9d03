import { done, type Outcome } from "../../base/outcome.ts";
import { gvkOf, type KubeObject } from "../../kube/object.ts";
import { parseManifests } from "../../kube/yaml.ts";
import { Settings } from "../controller/settings.ts";
import { type Imported, importApplication, importApplicationSet, importAppProject } from "../link/discover/import.ts";
import { type Maker, makerOf } from "../link/discover/owner.ts";
import type { InputFile } from "./inputs.ts";

/** An object of Argo CD, and what it is as one of ours. */
export interface FromArgo extends Imported {
  kind: string;
  namespace: string | undefined;
  name: string;
  /** The set or application that makes it. */
  maker?: Maker | undefined;
  /** Whether it is of a kind that has one of ours. */
  known: boolean;
}

const IMPORTS: Record<string, (object: KubeObject) => Imported> = {
  Application: importApplication,
  ApplicationSet: importApplicationSet,
  AppProject: importAppProject,
};

/** What `argocd admin export` and `kubectl get -o yaml` give, object by object. */
export function fromArgo(files: readonly InputFile[]): Outcome<FromArgo[]> {
  const found: FromArgo[] = [];
  const tracking = new Settings().tracking;
  for (const { name: file, text } of files) {
    const objects = parseManifests(text, file);
    if (objects.kind !== "done") return objects;
    for (const object of objects.value) {
      const { namespace, name } = object.metadata;
      const convert = gvkOf(object).group === "argoproj.io" ? IMPORTS[object.kind] : undefined;
      const what = { kind: object.kind, namespace, name };
      if (!convert) found.push({ ...what, known: false, inexpressible: [] });
      else found.push({ ...what, ...convert(object), known: true, maker: makerOf(object, namespace ?? "", tracking) });
    }
  }
  return done(found);
}
