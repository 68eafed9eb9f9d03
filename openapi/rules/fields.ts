import { type Fault, isObject, step } from "./fault.ts";
import { didYouMean } from "./suggest.ts";

/** Names that an object may have. `any` is not looked into; a list of one holds objects; `each` is an object with names of its own choice. */
export type Fields = "any" | { readonly [name: string]: Fields } | readonly [Fields];
const any = "any";

const words = (text: string): { [name: string]: Fields } =>
  Object.fromEntries(text.split(" ").map((word) => [word, any]));

const SOURCE: Fields = {
  ...words("repoURL path targetRevision tagPrefix chart ref name"),
  helm: {
    ...words(
      "releaseName values valuesObject valueFiles version passCredentials ignoreMissingValueFiles skipCrds skipTests skipSchemaValidation namespace kubeVersion apiVersions",
    ),
    parameters: [words("name value forceString")],
    fileParameters: [words("name path")],
  },
  kustomize: {
    ...words(
      "namePrefix nameSuffix images commonLabels version commonAnnotations forceCommonLabels forceCommonAnnotations namespace commonAnnotationsEnvsubst components ignoreMissingComponents labelWithoutSelector labelIncludeTemplates kubeVersion apiVersions",
    ),
    replicas: [words("name count")],
    patches: [
      {
        ...words("path patch options"),
        target: words("group version kind name namespace labelSelector annotationSelector"),
      },
    ],
  },
  directory: {
    ...words("recurse include exclude"),
    jsonnet: { extVars: [words("name value code")], tlas: [words("name value code")], libs: any },
  },
  plugin: { name: any, env: [words("name value")], parameters: [words("name string array map")] },
};

/** The template of a set, as `argoproj.io/v1alpha1` has an Application. */
export const TEMPLATE_FIELDS: Fields = {
  metadata: words("name namespace labels annotations finalizers"),
  spec: {
    ...words("project revisionHistoryLimit"),
    destination: words("server name namespace"),
    source: SOURCE,
    sources: [SOURCE],
    sourceHydrator: {
      drySource: { ...SOURCE },
      syncSource: words("repoURL targetBranch path"),
      hydrateTo: words("targetBranch"),
    },
    syncPolicy: {
      automated: words("prune selfHeal allowEmpty enabled"),
      syncOptions: any,
      retry: { limit: any, refresh: any, backoff: words("duration factor maxDuration") },
      managedNamespaceMetadata: words("labels annotations"),
    },
    ignoreDifferences: [words("group kind name namespace jsonPointers jqPathExpressions managedFieldsManagers")],
    info: [words("name value")],
  },
};

const SECRET = words("secretName key");
const CONFIG_MAP = words("configMapName key");
const BASIC = { username: any, passwordRef: SECRET } satisfies Fields;
const BEARER = { tokenRef: SECRET } satisfies Fields;
const SIGN_IN = { tokenRef: SECRET, basicAuth: BASIC, bearerToken: BEARER, caRef: CONFIG_MAP } satisfies Fields;
const COMMON = { ...words("requeueAfterSeconds values"), template: TEMPLATE_FIELDS } satisfies Fields;
const PATHS: Fields = [words("path exclude")];

/** The fields of each generator. */
export const GENERATOR_FIELDS: { readonly [name: string]: Fields } = {
  list: { ...words("elements elementsYaml"), template: TEMPLATE_FIELDS },
  clusters: { ...words("selector flatList values"), template: TEMPLATE_FIELDS },
  git: { ...COMMON, ...words("repoURL revision pathParamPrefix"), directories: PATHS, files: PATHS },
  scmProvider: {
    ...COMMON,
    cloneProtocol: any,
    filters: [words("repositoryMatch pathsExist pathsDoNotExist labelMatch branchMatch")],
    github: { ...words("organization api appSecretName allBranches excludeArchivedRepos"), tokenRef: SECRET },
    gitlab: {
      ...SIGN_IN,
      ...words(
        "group includeSubgroups includeSharedProjects includeArchivedRepos excludeArchivedRepos api allBranches insecure topic",
      ),
    },
    gitea: { ...SIGN_IN, ...words("owner api allBranches insecure excludeArchivedRepos") },
    bitbucket: { ...SIGN_IN, ...words("owner user api allBranches"), appPasswordRef: SECRET },
    bitbucketServer: { ...SIGN_IN, ...words("project api allBranches insecure") },
    azureDevOps: {
      ...SIGN_IN,
      ...words("organization teamProject api allBranches useWorkloadIdentity"),
      accessTokenRef: SECRET,
    },
    awsCodeCommit: { ...words("role region allBranches"), tagFilters: [words("key value")] },
  },
  pullRequest: {
    ...COMMON,
    continueOnRepoNotFoundError: any,
    filters: [words("branchMatch targetBranchMatch titleMatch")],
    github: { ...words("owner repo api appSecretName labels"), tokenRef: SECRET },
    gitlab: { ...SIGN_IN, ...words("project api labels pullRequestState insecure") },
    gitea: { ...SIGN_IN, ...words("owner repo api insecure labels") },
    bitbucket: { ...SIGN_IN, ...words("owner repo api") },
    bitbucketServer: { ...SIGN_IN, ...words("project repo api insecure") },
    azuredevops: {
      ...SIGN_IN,
      ...words("organization project repo api labels useWorkloadIdentity"),
      accessTokenRef: SECRET,
    },
  },
  clusterDecisionResource: { ...COMMON, ...words("configMapRef name labelSelector") },
  plugin: { ...COMMON, configMapRef: words("name"), input: words("parameters") },
  matrix: { generators: any, template: TEMPLATE_FIELDS },
  merge: { ...words("generators mergeKeys"), template: TEMPLATE_FIELDS },
};

/** Unknown fields, each with the one that was probably meant. */
export function unknownFields(value: unknown, fields: Fields, at: string): Fault[] {
  if (fields === any) return [];
  if (Array.isArray(fields))
    return Array.isArray(value) ? value.flatMap((one, i) => unknownFields(one, fields[0]!, `${at}/${i}`)) : [];
  if (!isObject(value)) return [];
  const known = Object.keys(fields);
  return Object.entries(value).flatMap(([name, member]) => {
    const here = `${at}${step(name)}`;
    // A name that is filled in is known only later.
    if (name.includes("{{")) return [];
    if (Object.hasOwn(fields, name)) return unknownFields(member, (fields as { [name: string]: Fields })[name]!, here);
    const list = known.length > 8 ? "" : ` It may have ${known.map((one) => `\`${one}\``).join(", ")}.`;
    return [
      { pointer: here, detail: `There is no field \`${name.slice(0, 64)}\` here.${didYouMean(name, known) || list}` },
    ];
  });
}
