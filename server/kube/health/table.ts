import { gatewayApi } from "./builtin/gateway.ts";
import { kubernetes } from "./builtin/kubernetes.ts";
import {
  apiService,
  horizontalPodAutoscaler,
  ingress,
  persistentVolumeClaim,
  service,
  workflow,
} from "./builtin/other.ts";
import { pod } from "./builtin/pod.ts";
import { storage } from "./builtin/storage.ts";
import { daemonSet, deployment, job, replicaSet, statefulSet } from "./builtin/workloads.ts";
import { argo } from "./delivery/argo.ts";
import { flux } from "./delivery/flux.ts";
import { kruise } from "./delivery/kruise.ts";
import { numa } from "./delivery/numa.ts";
import { promoter } from "./delivery/promoter.ts";
import { serving } from "./delivery/serving.ts";
import { solo } from "./delivery/solo.ts";
import { certificates } from "./operators/certificates.ts";
import { clusters } from "./operators/clusters.ts";
import { crossplane } from "./operators/crossplane.ts";
import { databases } from "./operators/databases.ts";
import { google } from "./operators/google.ts";
import { messaging } from "./operators/messaging.ts";
import { observability } from "./operators/observability.ts";
import { openshift } from "./operators/openshift.ts";
import { secrets } from "./operators/secrets.ts";
import { threescale } from "./operators/threescale.ts";
import { type Checks, versions } from "./rules.ts";

/** The kinds that tell their health, by `group/Kind`; `*` in either part is any. Every other kind has none and does not count. */
export const CHECKS: Checks = {
  "apps/Deployment": versions("Deployment", ["apps/v1"], deployment),
  "apps/StatefulSet": versions("StatefulSet", ["apps/v1"], statefulSet),
  "apps/DaemonSet": versions("DaemonSet", ["apps/v1"], daemonSet),
  "apps/ReplicaSet": versions("ReplicaSet", ["apps/v1"], replicaSet),
  "batch/Job": versions("Job", ["batch/v1"], job),
  "/Pod": pod,
  "/PersistentVolumeClaim": persistentVolumeClaim,
  "/Service": service,
  "networking.k8s.io/Ingress": ingress,
  "extensions/Ingress": ingress,
  "autoscaling/HorizontalPodAutoscaler": versions("HPA", ["autoscaling/v1", "autoscaling/v2"], horizontalPodAutoscaler),
  "apiregistration.k8s.io/APIService": apiService,
  "argoproj.io/Workflow": workflow,
  ...kubernetes,
  ...argo,
  ...certificates,
  ...clusters,
  ...crossplane,
  ...databases,
  ...flux,
  ...gatewayApi,
  ...google,
  ...kruise,
  ...messaging,
  ...numa,
  ...observability,
  ...openshift,
  ...promoter,
  ...secrets,
  ...serving,
  ...solo,
  ...storage,
  ...threescale,
};
