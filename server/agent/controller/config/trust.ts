import { digest } from "../../../base/json/canonical.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { scopesAbove, tenantOf } from "../../project/tenant.ts";
import { TRUST_NAMES, trustName } from "../../project/trust-names.ts";
import type { Keyring } from "../../repo/types.ts";

/** What one scope trusts. */
interface Material {
  knownHosts: string;
  /** PEM by `host` or `host:port`. */
  certificates: Record<string, string>;
  keyring: Keyring;
}

/** Certificates, host keys and public keys by scope. A scope trusts its own and those of the scopes above it, never another tenant's. */
export class Trust {
  #scopes = new Map<string | undefined, Material>();
  #keyrings = new Map<string | undefined, { keyring: Keyring; digest: string }>();

  /** Takes the ConfigMaps of the namespace; true when public keys changed. */
  replace(configMaps: readonly KubeObject[]): boolean {
    const before = digest(this.#keys());
    this.#scopes = new Map();
    for (const tenant of new Set([undefined, ...configMaps.map(tenantOf)])) {
      const data = (base: string) => dataOf(configMaps, base, tenant);
      this.#scopes.set(tenant, {
        knownHosts: data(TRUST_NAMES.hosts).ssh_known_hosts ?? "",
        certificates: data(TRUST_NAMES.certificates),
        keyring: data(TRUST_NAMES.keys),
      });
    }
    const changed = before !== digest(this.#keys());
    if (changed) this.#keyrings.clear();
    return changed;
  }

  /** Public keys by which a scope judges commits; the same object until one changes. */
  keyring(scope: string | undefined): { keyring: Keyring; digest: string } {
    let known = this.#keyrings.get(scope);
    if (!known) {
      // What the scopes above trust under an id counts before what those below do.
      const keyring = Object.assign({}, ...this.#chain(scope).map((one) => one.keyring)) as Keyring;
      known = { keyring, digest: digest(keyring) };
      this.#keyrings.set(scope, known);
    }
    return known;
  }

  knownHosts(scope: string | undefined): string {
    return this.#chain(scope)
      .map((one) => one.knownHosts)
      .filter(Boolean)
      .join("\n");
  }

  /** A certificate for the host with its port comes before one for the host, the nearest scope's before those above. */
  certificate(scope: string | undefined, url: string): string | undefined {
    const text = url.includes("://") ? url : `oci://${url}`;
    if (!URL.canParse(text)) return undefined;
    const { host, hostname } = new URL(text.replace(/^oci:/, "https:"));
    for (const { certificates } of this.#chain(scope)) {
      const named = [host, hostname].find((name) => Object.hasOwn(certificates, name));
      if (named !== undefined && certificates[named]) return certificates[named];
    }
    return undefined;
  }

  #chain(scope: string | undefined): Material[] {
    return scopesAbove(scope).flatMap((one) => this.#scopes.get(one) ?? []);
  }

  #keys(): unknown {
    return [...this.#scopes].map(([scope, { keyring }]) => [scope ?? null, keyring]);
  }
}

function dataOf(configMaps: readonly KubeObject[], base: string, tenant: string | undefined): Record<string, string> {
  const name = trustName(base, tenant);
  const found = configMaps.find((one) => one.metadata.name === name && tenantOf(one) === tenant);
  const entries = Object.entries(found?.data ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(entries);
}
