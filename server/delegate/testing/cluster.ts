import { readFileSync } from "node:fs";
import type { Schemas } from "../../../openapi/client.ts";
import { type ApiServer, startApiServer } from "../../../test/cluster/apiserver.ts";
import { KubeClient } from "../../kube/client.ts";
import { parseKubeconfig } from "../../kube/config.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { Resource } from "../../kube/path.ts";
import { type KindBench, kindBench } from "./kind.ts";

/** A real API server, and what tests of kinds that talk to one need. Without controllers nothing becomes ready by itself. */
export interface TestCluster {
  api: ApiServer;
  bench: KindBench;
  /** Another manager of fields than the delegate. */
  client: KubeClient;
  access: Schemas["KubernetesAccess"];
  /** A user without rights. */
  limited: Schemas["KubernetesAccess"];
  get(resource: Resource, name: string, namespace?: string): Promise<KubeObject | undefined>;
  /** Writes what a controller would. */
  status(resource: Resource, name: string, value: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

export async function startCluster(dir: string): Promise<TestCluster> {
  const api = await startApiServer();
  const access = { kubeconfig: readFileSync(api.kubeconfig, "utf8") };
  const client = new KubeClient(parseKubeconfig(access.kubeconfig), { fieldManager: "somebody" });
  return {
    api,
    bench: kindBench(dir),
    client,
    access,
    limited: { kubeconfig: readFileSync(api.kubeconfigFor("limited"), "utf8") },
    get: async (resource, name, namespace = "default") => {
      const read = await client.get(resource, namespace, name);
      return read.kind === "done" ? read.value : undefined;
    },
    status: (resource, name, value) => client.patchStatus(resource, "default", name, value),
    stop: async () => {
      await client.close();
      await api.stop();
    },
  };
}

export const configMap = (name: string, data: Record<string, string> = { a: "1" }, more = "") =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name}${more} }\ndata: ${JSON.stringify(data)}\n---\n`;

export const deployment = (name: string, image = "x:1", selector = name) => `apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: 2
  selector: { matchLabels: { app: ${selector} } }
  template:
    metadata: { labels: { app: ${selector} } }
    spec: { containers: [{ name: c, image: "${image}" }] }
---
`;

/** A kind of its own, Gadget. */
export const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gadgets.test.example }
spec:
  group: test.example
  scope: Namespaced
  names: { kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList }
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
---
`;
export const GADGET: Resource = {
  group: "test.example",
  version: "v1",
  kind: "Gadget",
  plural: "gadgets",
  namespaced: true,
};
