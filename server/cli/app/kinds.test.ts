import { knownKind } from "./kinds.ts";
import { parseResource } from "./resource-name.ts";

test.each([
  ["deploy", "apps", "Deployment"],
  ["Deployments", "apps", "Deployment"],
  ["svc", "", "Service"],
  ["ingress", "networking.k8s.io", "Ingress"],
  ["ingresses", "networking.k8s.io", "Ingress"],
  ["networkpolicies", "networking.k8s.io", "NetworkPolicy"],
  ["po", "", "Pod"],
  ["pvc", "", "PersistentVolumeClaim"],
])("%s is a %s %s", (word, group, kind) => expect(knownKind(word)).toEqual({ group, kind }));

test.each([
  ["Deploy/api", { kind: "Deployment", name: "api" }],
  ["deploy/api", { kind: "Deployment", name: "api" }],
  ["Deployment/web/api", { kind: "Deployment", namespace: "web", name: "api" }],
  ["apps/Deployment/api", { group: "apps", kind: "Deployment", name: "api" }],
  ["deployment.apps/api", { group: "apps", kind: "Deployment", name: "api" }],
  ["certificates.cert-manager.io/tls", undefined],
  ["Certificate/tls", { kind: "Certificate", name: "tls" }],
  [
    "cert-manager.io/Certificate/web/tls",
    { group: "cert-manager.io", kind: "Certificate", namespace: "web", name: "tls" },
  ],
])("%s names %j", (text, want) => {
  if (want) expect(parseResource(text)).toEqual(want);
  else expect(() => parseResource(text)).toThrow("takes [group/]Kind/[namespace/]name");
});
