import type { KubeObject } from "../object.ts";
import { type Checks, conditions, firstOf, phases, ready, waiting } from "./rules.ts";
import type { HealthCheck } from "./types.ts";

/** Orders and challenges of ACME: one word for the state, and a reason when there is one. */
const acme = (what: string): HealthCheck => {
  const name = what.toLowerCase();
  const said = ({ status }: KubeObject): string => status.reason ?? `${what} is ${status.state}`;
  return firstOf(
    phases("status.state", { Healthy: ["valid"] }, `${what} is valid`),
    phases("status.state", { Degraded: ["invalid", "expired", "errored"], Progressing: ["pending", "ready", "processing"] }, said),
    waiting(`Waiting for ${name}`),
  );
};

export const certificates: Checks = {
  // A certificate that is being renewed is ready meanwhile.
  "cert-manager.io/Certificate": firstOf(conditions(["Issuing", "True", "Progressing"]), ready("Waiting for certificate")),
  "cert-manager.io/Issuer": ready("Initializing issuer"),
  "cert-manager.io/ClusterIssuer": ready("Initializing ClusterIssuer"),
  "certmanager.k8s.io/Certificate": ready("Waiting for certificate"),
  "certmanager.k8s.io/Issuer": ready("Initializing issuer"),
  "acme.cert-manager.io/Order": acme("Order"),
  "acme.cert-manager.io/Challenge": acme("Challenge"),
};
