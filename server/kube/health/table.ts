import { argo } from "./argo.ts";
import { certificates } from "./certificates.ts";
import { clusters } from "./clusters.ts";
import { crossplane } from "./crossplane.ts";
import { databases } from "./databases.ts";
import { flux } from "./flux.ts";
import { gatewayApi } from "./gateway.ts";
import { google } from "./google.ts";
import { kruise } from "./kruise.ts";
import { kubernetes } from "./kubernetes.ts";
import { messaging } from "./messaging.ts";
import { numa } from "./numa.ts";
import { observability } from "./observability.ts";
import { openshift } from "./openshift.ts";
import { apiService, horizontalPodAutoscaler, ingress, persistentVolumeClaim, service, workflow } from "./other.ts";
import { pod } from "./pod.ts";
import { promoter } from "./promoter.ts";
import { type Checks, versions } from "./rules.ts";
import { secrets } from "./secrets.ts";
import { serving } from "./serving.ts";
import { solo } from "./solo.ts";
import { storage } from "./storage.ts";
import { threescale } from "./threescale.ts";
import { daemonSet, deployment, job, replicaSet, statefulSet } from "./workloads.ts";

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
