import { NODE_NAME, network } from "./network.ts";
import type { Programs } from "./tools.ts";

/** Everything the processes of a node need to know, written once into its folder as `plan.json`. */
export interface Plan {
  name: string;
  dir: string;
  programs: Programs;
  /** Folders before the machine's own in PATH and LD_LIBRARY_PATH. */
  path: string[];
  libraries: string[];
  /** Folder of the CNI plugins, and runc. */
  cni: string;
  runc: string;
  cgroup: string;
}

/** A program of the node and the step it waits for. */
export interface Component {
  name: string;
  command: string[];
  after?: "apiserver";
}

/** The programs in the order they are started. */
export function components({ dir, programs }: Plan): Component[] {
  const pki = (name: string) => `${dir}/pki/${name}`;
  const program = (name: string) => {
    const found = programs[name];
    if (!found) throw new Error(`the plan has no ${name}`);
    return found;
  };
  // Twenty requests a second is the default: the first service account would appear only after nine seconds.
  const quick = ["--kube-api-qps=500", "--kube-api-burst=1000"];
  return [
    {
      name: "etcd",
      command: [
        program("etcd"),
        `--data-dir=${dir}/etcd`,
        "--listen-client-urls=http://127.0.0.1:2379",
        "--advertise-client-urls=http://127.0.0.1:2379",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--initial-advertise-peer-urls=http://127.0.0.1:2380",
        "--initial-cluster=default=http://127.0.0.1:2380",
        "--unsafe-no-fsync",
        "--log-level=warn",
      ],
    },
    { name: "containerd", command: ["containerd", "--config", `${dir}/containerd.toml`] },
    {
      name: "kube-apiserver",
      command: [
        program("kube-apiserver"),
        "--etcd-servers=http://127.0.0.1:2379",
        "--bind-address=0.0.0.0",
        `--advertise-address=${network.node}`,
        `--secure-port=${network.apiPort}`,
        `--tls-cert-file=${pki("apiserver.crt")}`,
        `--tls-private-key-file=${pki("apiserver.key")}`,
        `--client-ca-file=${pki("ca.crt")}`,
        `--kubelet-client-certificate=${pki("apiserver-kubelet.crt")}`,
        `--kubelet-client-key=${pki("apiserver-kubelet.key")}`,
        `--kubelet-certificate-authority=${pki("ca.crt")}`,
        "--kubelet-preferred-address-types=InternalIP",
        "--authorization-mode=Node,RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        `--service-account-key-file=${pki("sa.pub")}`,
        `--service-account-signing-key-file=${pki("sa.key")}`,
        `--service-cluster-ip-range=${network.services}`,
        "--allow-privileged=true",
        "--enable-admission-plugins=NodeRestriction",
      ],
    },
    {
      name: "kube-controller-manager",
      after: "apiserver",
      command: [
        program("kube-controller-manager"),
        `--kubeconfig=${pki("kcm.kubeconfig")}`,
        ...quick,
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        `--service-account-private-key-file=${pki("sa.key")}`,
        `--root-ca-file=${pki("ca.crt")}`,
        `--cluster-signing-cert-file=${pki("ca.crt")}`,
        `--cluster-signing-key-file=${pki("ca.key")}`,
      ],
    },
    {
      name: "kube-scheduler",
      after: "apiserver",
      command: [
        program("kube-scheduler"),
        `--kubeconfig=${pki("scheduler.kubeconfig")}`,
        ...quick,
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
      ],
    },
    {
      name: "kubelet",
      after: "apiserver",
      command: [
        program("kubelet"),
        `--config=${dir}/kubelet.yaml`,
        `--kubeconfig=${pki("kubelet.kubeconfig")}`,
        `--hostname-override=${NODE_NAME}`,
        `--node-ip=${network.node}`,
        `--root-dir=${dir}/kubelet`,
        "--node-labels=type=real",
      ],
    },
    { name: "kube-proxy", after: "apiserver", command: [program("kube-proxy"), `--config=${dir}/kube-proxy.yaml`] },
    { name: "coredns", after: "apiserver", command: [program("coredns"), "-conf", `${dir}/Corefile`] },
  ];
}

/** Objects the cluster has from the start: the DNS Service, whose endpoint is a process of the node and not a pod. */
export function firstObjects(): { path: string; body: unknown }[] {
  const ports = [
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "dns-tcp", port: 53, protocol: "TCP" },
  ];
  return [
    {
      path: "/api/v1/namespaces/kube-system/services",
      body: {
        metadata: { name: "kube-dns", labels: { "k8s-app": "kube-dns" } },
        spec: { clusterIP: network.dnsService, ports },
      },
    },
    {
      path: "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices",
      body: {
        metadata: { name: "kube-dns-node", labels: { "kubernetes.io/service-name": "kube-dns" } },
        addressType: "IPv4",
        endpoints: [{ addresses: [network.node], conditions: { ready: true } }],
        ports,
      },
    },
  ];
}

/** What a node tells about itself, in `status.json`. */
export interface Status {
  phase: "starting" | "ready" | "failed";
  /** Why it failed, with the tail of the log. */
  message?: string;
  /** One line for each step so far. */
  lines: string[];
  restarts: Record<string, number>;
}
