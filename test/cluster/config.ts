import { NODE_NAME, network } from "./network.ts";
import type { Plan } from "./plan.ts";

/** Configuration files of the node's programs, by their path under its folder. JSON is YAML, so that is what most are. */
export function configFiles(plan: Plan): Record<string, string> {
  return {
    "containerd.toml": containerd(plan),
    "cni/10-pods.conflist": json({
      cniVersion: "1.0.0",
      name: "pods",
      plugins: [
        {
          // Routed rather than bridged: answers from a pod behind a Service go back through the node even where the kernel
          // has no br_netfilter, and no bridge is needed either.
          type: "ptp",
          ipMasq: false,
          ipam: {
            type: "host-local",
            ranges: [[{ subnet: network.pods }]],
            routes: [{ dst: "0.0.0.0/0" }],
            dataDir: `${plan.dir}/ipam`,
          },
        },
      ],
    }),
    "kubelet.yaml": json(kubelet(plan)),
    "kube-proxy.yaml": json({
      apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
      kind: "KubeProxyConfiguration",
      mode: "nftables",
      bindAddress: "127.0.0.1",
      healthzBindAddress: "127.0.0.1:10256",
      metricsBindAddress: "127.0.0.1:10249",
      clusterCIDR: network.pods,
      hostnameOverride: NODE_NAME,
      clientConnection: { kubeconfig: `${plan.dir}/pki/admin.kubeconfig` },
      // Connection tracking limits belong to the machine, not to a namespace of it.
      conntrack: { maxPerCore: 0 },
      // Services follow their endpoints within this time; the default of a second (which 0 means too) is for large clusters.
      nftables: { minSyncPeriod: "20ms", syncPeriod: "30s" },
    }),
    Corefile: corefile(plan),
    // Pods with `dnsPolicy: Default` get this one; the machine's own resolver cannot be reached from here.
    "resolv.conf": `nameserver ${network.node}\n`,
    hosts: "",
  };
}

function containerd({ dir, cni, runc }: Plan): string {
  return `version = 2
root = "${dir}/containerd"
state = "${dir}/containerd-state"
oom_score = 0
[grpc]
  address = "${dir}/containerd.sock"
[ttrpc]
  address = "${dir}/containerd.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "${dir}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "outpost.local/pause:1"
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  enable_selinux = false
  disable_apparmor = true
  # A root without CAP_SYS_RESOURCE cannot lower the score: runc would fail to start any container.
  restrict_oom_score_adj = true
  max_container_log_line_size = 262144
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${cni}"
    conf_dir = "${dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "${runc}"
        SystemdCgroup = false
`;
}

function kubelet({ dir, cgroup }: Plan): unknown {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: "0.0.0.0",
    port: 10250,
    readOnlyPort: 0,
    healthzBindAddress: "127.0.0.1",
    healthzPort: 10248,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${dir}/pki/ca.crt` },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: `${dir}/pki/kubelet.crt`,
    tlsPrivateKeyFile: `${dir}/pki/kubelet.key`,
    containerRuntimeEndpoint: `unix://${dir}/containerd.sock`,
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    enforceNodeAllocatable: ["pods"],
    // The machine is shared and may be nearly full: neither evict pods nor delete images that no registry could bring back.
    evictionHard: { "memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    podLogsDir: `${dir}/pod-logs`,
    volumePluginDir: `${dir}/volume-plugins`,
    resolvConf: `${dir}/resolv.conf`,
    clusterDNS: [network.dnsService],
    clusterDomain: "cluster.local",
    nodeStatusUpdateFrequency: "5s",
    syncFrequency: "10s",
    fileCheckFrequency: "60s",
    // The defaults, 5 and 10 image pulls and 50 requests a second, slow down fifty pods at once.
    kubeAPIQPS: 200,
    kubeAPIBurst: 400,
    registerNode: true,
  };
}

/**
 * Names of the host's servers come from a file that `expose` rewrites. The Kubernetes plugin also has the root zone, for which
 * it knows nothing: so all other names do not exist, at once, where no plugin at all would mean "try again".
 */
function corefile({ dir }: Plan): string {
  return `.:53 {
  bind ${network.node} 127.0.0.1
  errors
  ready 127.0.0.1:8181
  hosts ${dir}/hosts {
    ttl 2
    reload 100ms
    no_reverse
    fallthrough
  }
  kubernetes cluster.local in-addr.arpa ip6.arpa . {
    kubeconfig ${dir}/pki/admin.kubeconfig
    ttl 2
  }
}
`;
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
