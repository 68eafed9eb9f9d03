import type { KubeObject } from "../../object.ts";
import { type Checks, conditions, firstOf, phases, ready, waiting, when } from "../rules.ts";
import type { HealthCheck } from "../types.ts";

/** Orders and challenges of ACME: one word for the state, and a reason when there is one. */
const acme = (what: string, explains = false): HealthCheck => {
  const state = ({ status }: KubeObject): string => `${what} is ${status.state}`;
  const said = (object: KubeObject): string => object.status.reason ?? state(object);
  return firstOf(
    phases("status.state", { Healthy: ["valid"] }, state),
    phases("status.state", { Degraded: ["invalid", "expired", "errored"] }, said),
    // An order's reason is the reason of a failure only; a challenge's also says what it waits for.
    when(({ status }) => status?.state, "Progressing", explains ? said : state),
    waiting(`Waiting for ${what.toLowerCase()}`),
  );
};

export const certificates: Checks = {
  // A certificate that is being renewed is ready meanwhile.
  "cert-manager.io/Certificate": firstOf(
    conditions(["Issuing", "True", "Progressing"]),
    ready("Waiting for certificate"),
  ),
  "cert-manager.io/Issuer": ready("Initializing issuer"),
  "cert-manager.io/ClusterIssuer": ready("Initializing ClusterIssuer"),
  "certmanager.k8s.io/Certificate": ready("Waiting for certificate"),
  "certmanager.k8s.io/Issuer": ready("Initializing issuer"),
  "acme.cert-manager.io/Order": acme("Order"),
  "acme.cert-manager.io/Challenge": acme("Challenge", true),
};
