/** Addresses inside a node's own network; every node has the same ones, since no two share a network. */
export const network = {
  /** The node, as pods see it; servers of the host appear here too. */
  node: "10.111.0.1",
  pods: "10.244.0.0/24",
  services: "10.96.0.0/16",
  apiService: "10.96.0.1",
  dnsService: "10.96.0.10",
  apiPort: 6443,
} as const;

export const NODE_NAME = "node1";
