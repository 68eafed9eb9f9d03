import { digest } from "../../base/json/canonical.ts";

/** Argo CD's ConfigMaps of trusted keys: certificates of hosts, host keys for SSH, public keys of signers. */
export const TRUST_NAMES = {
  certificates: "argocd-tls-certs-cm",
  hosts: "argocd-ssh-known-hosts-cm",
  keys: "argocd-gpg-keys-cm",
} as const;

/** Each tenant has ConfigMaps of its own: Argo CD's are trusted for the connections of all tenants. */
export function trustName(base: string, tenant: string | undefined): string {
  return tenant === undefined ? base : `${base}-${digest(tenant).slice(0, 16)}`;
}
