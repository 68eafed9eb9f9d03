/** Renders the charts once with slots in the place of values, so that the service needs no helm to hand out manifests. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { slots } from "../install/slots.ts";
import { HEADER } from "./files.ts";
import { scripts } from "./scripts.ts";

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  [field: string]: unknown;
}

/** The charts want a Kubernetes version, and a helm that was built without one says 1.20. */
const KUBERNETES = "1.30.0";

/** `helm template` as objects. */
export function helmTemplate(
  helm: string,
  chart: string,
  release: string,
  namespace: string,
  values: object,
): Manifest[] {
  const args = ["template", release, chart, "--namespace", namespace, "--kube-version", KUBERNETES, "--values", "-"];
  const text = execFileSync(helm, args, {
    input: JSON.stringify(values),
    encoding: "utf8",
    maxBuffer: 64 << 20,
    stdio: ["pipe", "pipe", "pipe"],
  });
  return parseAllDocuments(text)
    .map((doc) => doc.toJS() as Manifest | null)
    .filter((doc) => doc !== null);
}

/** File name → text, for `modules/install/generated`. */
export function generateManifests(helm: string, charts: string): Record<string, string> {
  const render = (chart: string, release: string, values: object, namespace: string = slots.namespace) =>
    helmTemplate(helm, join(charts, chart), release, namespace, values);
  const files: Record<string, string> = scripts();
  const add = (file: string, name: string, manifests: Manifest[]) => {
    const text = JSON.stringify(manifests.map(withDigestSlots), null, 1);
    files[file] = `${HEADER}export const ${name} = ${text} as const;\n`;
  };
  const objects: string[] = [];
  const layouts = Object.fromEntries(
    (["split", "all", "beside"] as const).map((layout) => [
      layout,
      Object.fromEntries(
        (["cluster", "namespaced"] as const).map((access) => {
          const engine = layout === "beside" ? { engine: "none" } : { mode: layout };
          const values = agentValues({ ...engine, namespaced: access === "namespaced", crds: { install: false } });
          const rendered = render("outpost-agent", "outpost-agent", values).map((one) =>
            JSON.stringify(withDigestSlots(one), null, 1),
          );
          return [access, rendered.map((text) => placeOf(objects, text))];
        }),
      ),
    ]),
  );
  files["agent.ts"] =
    `${HEADER}/** Each object once; a layout is the places of its objects, in order. */\nexport const agentObjects = [\n${objects.join(",\n")}\n] as const;\nexport const agentLayouts = ${JSON.stringify(layouts)} as const;\n`;
  // The same for all that have them, and large.
  const all = render(
    "outpost-agent",
    "outpost-agent",
    agentValues({
      agent: { account: slots.account, id: slots.id, org: slots.org, project: slots.project },
      crds: { install: true, keep: false },
    }),
  );
  add(
    "crds.ts",
    "crds",
    all.filter((one) => one.kind === "CustomResourceDefinition"),
  );
  // With everything; what was not asked for is taken out when it is handed out.
  const own = render("outpost-delegate", slots.delegateName, delegateValues);
  const inNamespace = render("outpost-delegate", slots.delegateName, {
    ...delegateValues,
    permissions: { level: "namespace-admin" },
  });
  add("delegate.ts", "delegate", [...own, ...inNamespace.filter((one) => one.kind === "RoleBinding")]);
  add(
    "namespace.ts",
    "namespace",
    render("outpost-namespace", "outpost-namespace", { name: slots.namespace }, "default"),
  );
  return files;
}

/** Where a text is in a list, to which it is added when it is new. */
function placeOf(list: string[], text: string): number {
  const at = list.indexOf(text);
  return at >= 0 ? at : list.push(text) - 1;
}

const common = {
  endpoint: slots.endpoint,
  token: slots.token,
  image: { reference: slots.image, pullSecrets: [slots.imagePullSecret] },
  proxy: { httpsProxy: slots.httpsProxy, noProxy: slots.noProxy },
  ca: { bundle: slots.caCertificate },
};

function agentValues(more: object): object {
  return {
    ...common,
    agent: { id: slots.id, account: slots.account, org: slots.org, project: slots.project },
    internal: { repoToken: slots.repoToken, redisPassword: slots.redisPassword, readsToken: slots.readsToken },
    redis: { image: { reference: slots.redisImage } },
    scmProviders: [slots.scmProviders],
    ...more,
  };
}

const delegateValues = {
  ...common,
  delegate: {
    name: slots.id,
    account: slots.account,
    org: slots.org,
    project: slots.project,
    description: slots.description,
    tags: [slots.tags],
  },
  permissions: { level: "custom", clusterRole: slots.clusterRole },
  initScript: slots.initScript,
};

/** Digests of slots are slots themselves: the digest of the real value takes their place. */
function withDigestSlots(manifest: Manifest): Manifest {
  const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);
  const text = JSON.stringify(manifest)
    .replaceAll(digest(slots.token), slots.tokenDigest)
    .replaceAll(digest(slots.initScript), slots.initDigest)
    .replaceAll(digest(`${slots.repoToken}:${slots.redisPassword}:${slots.readsToken}`), slots.internalDigest)
    // No Helm release: kubectl applied these objects.
    .replaceAll('"app.kubernetes.io/managed-by":"Helm"', '"app.kubernetes.io/managed-by":"outpost-manifest"');
  return JSON.parse(text) as Manifest;
}
