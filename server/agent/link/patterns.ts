import type { KubeClient } from "../../kube/client.ts";
import { RESOURCES } from "../../kube/path.ts";
import { APPLICATION_SET } from "../appset/reconcile/reconcile.ts";
import { listed, Settings } from "../controller/settings.ts";
import { listsNamespace } from "../project/namespaces.ts";

/** Other namespaces with applications and sets, as the environment says, or else Argo CD's ConfigMap `argocd-cmd-params-cm`. */
export interface Patterns {
  applications: readonly string[] | undefined;
  sets: readonly string[] | undefined;
}

export function patternsOf(env: NodeJS.ProcessEnv): Patterns {
  const given = (text: string | undefined) => (text === undefined ? undefined : listed(text));
  return {
    applications: given(env.OUTPOST_APPLICATION_NAMESPACES),
    sets: given(env.OUTPOST_APPLICATIONSET_NAMESPACES),
  };
}

interface Where {
  client: KubeClient;
  namespace: string;
  patterns?: Patterns;
}

/** Whether objects of a kind in a namespace are the agent's to show and to act on. */
export async function isOurs(
  { client, namespace: own, patterns }: Where,
  kind: string,
  namespace: string,
): Promise<boolean> {
  if (namespace === own) return true;
  const isSet = kind === APPLICATION_SET.kind;
  if (!isSet && kind !== RESOURCES.application.kind) return false;
  const given = isSet ? patterns?.sets : patterns?.applications;
  if (given) return listsNamespace(given, namespace);
  const found = await client.get(RESOURCES.configMap, own, "argocd-cmd-params-cm");
  if (found.kind !== "done") return false;
  const settings = new Settings();
  settings.replace([found.value]);
  return listsNamespace(isSet ? settings.setNamespaces : settings.applicationNamespaces, namespace);
}

export const notHere = (namespace: string): string =>
  `namespace ${namespace} is none of those in which this agent looks for applications: look at applicationNamespaces of its chart`;
