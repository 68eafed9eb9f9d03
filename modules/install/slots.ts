/** Texts that stand for values in the pre-rendered manifests. Each is legal where it stands, and unlike any real text. */
export const slots = {
  id: "slot-id",
  delegateName: "outpost-delegate-slot-id",
  account: "slot-account",
  org: "slot-org",
  project: "slot-project",
  namespace: "slot-namespace",
  endpoint: "https://slot-endpoint.invalid",
  token: "slot-token",
  tokenDigest: "slot-digest-of-token",
  image: "slot-image",
  redisImage: "slot-redis-image",
  imagePullSecret: "slot-pull-secret",
  httpsProxy: "http://slot-https-proxy.invalid",
  noProxy: "slot-no-proxy",
  /** As the charts append it. */
  moreNoProxy: ",slot-no-proxy",
  repoToken: "slot-repo-token-0000",
  redisPassword: "slot-redis-password-0000",
  readsToken: "slot-reads-token-0000",
  internalDigest: "slot-digest-of-internal",
  scmProviders: "slot-scm-providers",
  description: "slot-description",
  tags: "slot-tags",
  caCertificate: "slot-ca-certificate",
  initScript: "slot-init-script",
  initDigest: "slot-digest-of-init",
  clusterRole: "slot-cluster-role",
} as const;

export type Slot = keyof typeof slots;
