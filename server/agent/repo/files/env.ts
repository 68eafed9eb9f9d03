import type { RenderRequest, Source } from "../types.ts";

/** Names that a source's settings may use, as `$NAME` or `${NAME}`. */
export type BuildEnv = Readonly<Record<string, string>>;

/** The build environment of one source at one revision. */
export function buildEnv(request: RenderRequest, source: Source, revision: string): BuildEnv {
  const { app, namespace, kubeVersion = "", apiVersions = [] } = request;
  return {
    ARGOCD_APP_NAME: app.name,
    ARGOCD_APP_NAMESPACE: namespace,
    ARGOCD_APP_PROJECT_NAME: app.project,
    ARGOCD_APP_REVISION: revision,
    ARGOCD_APP_REVISION_SHORT: revision.slice(0, 7),
    ARGOCD_APP_REVISION_SHORT_8: revision.slice(0, 8),
    ARGOCD_APP_SOURCE_REPO_URL: source.repoURL,
    ARGOCD_APP_SOURCE_PATH: source.path ?? "",
    ARGOCD_APP_SOURCE_TARGET_REVISION: source.targetRevision ?? "",
    KUBE_VERSION: kubeVersion.replace(/^v/, ""),
    KUBE_API_VERSIONS: apiVersions.join(","),
  };
}

// As Go's os.Expand reads a text: names, one special character, or anything in braces; a brace that is not closed is dropped.
const VARIABLE = /\$(?:\{([^}]*)\}|([A-Za-z0-9_]+|[*#$@!?-])|(\{))/g;

/** Puts the environment in; `$$` is a dollar, an unknown name is nothing. */
export function expand(text: string, env: BuildEnv): string {
  return text.replace(VARIABLE, (_, braced: string | undefined, bare: string | undefined) => {
    const name = braced ?? bare ?? "";
    // A digit is a name of its own, like in a shell.
    if (bare && /^\d/.test(bare) && bare.length > 1) return bare.slice(1);
    if (name === "$") return "$";
    return Object.hasOwn(env, name) ? env[name]! : "";
  });
}
