/** How one folder of `tools/` becomes programs. */
export interface Recipe {
  /** The folder's name, which has go.mod and go.sum. */
  name: string;
  /** Version settings for the linker, after `-s -w`. */
  ldflags: string;
  packages: string[];
  /** Program → the file names go may give it, which depend on the package path's last parts. */
  programs: Record<string, string[]>;
  /** A program of the machine's own may stand in when its version, asked with `args`, matches. */
  fits?: { program: string; args: string[]; version: RegExp };
  /** About how long a cold build takes on two cores, for the progress line. */
  minutes: number;
}

const KUBERNETES = "v1.33.13";
const base = "k8s.io/component-base/version";
const client = "k8s.io/client-go/pkg/version";

// Without these the API server calls itself v0.0.0, and helm refuses charts with a kubeVersion.
const kubernetesVersion = [
  `-X ${base}.gitVersion=${KUBERNETES} -X ${base}.gitMajor=1 -X ${base}.gitMinor=33 -X ${base}.gitTreeState=clean`,
  `-X ${base}.gitCommit=module -X ${base}.buildDate=1970-01-01T00:00:00Z`,
  `-X ${client}.gitVersion=${KUBERNETES} -X ${client}.gitMajor=1 -X ${client}.gitMinor=33`,
].join(" ");

const kubernetesPrograms = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"];

export const recipes: Recipe[] = [
  {
    name: "helm",
    ldflags: "-X helm.sh/helm/v3/internal/version.version=v3.22.0",
    packages: ["helm.sh/helm/v3/cmd/helm"],
    programs: { helm: ["helm"] },
    fits: { program: "helm", args: ["version", "--template", "{{.Version}}"], version: /^v3\.(1[6-9]|[2-9]\d)\./ },
    minutes: 3,
  },
  { name: "etcd", ldflags: "", packages: ["go.etcd.io/etcd/server/v3"], programs: { etcd: ["server", "v3"] }, minutes: 2 },
  {
    name: "kubernetes",
    ldflags: kubernetesVersion,
    packages: kubernetesPrograms.map((program) => `k8s.io/kubernetes/cmd/${program}`),
    programs: Object.fromEntries(kubernetesPrograms.map((program) => [program, [program]])),
    minutes: 18,
  },
  {
    name: "kustomize",
    ldflags: "-X sigs.k8s.io/kustomize/api/provenance.version=v5.8.1",
    packages: ["sigs.k8s.io/kustomize/kustomize/v5"],
    programs: { kustomize: ["kustomize", "v5"] },
    fits: { program: "kustomize", args: ["version"], version: /^v5\.([4-9]|\d\d)\./ },
    minutes: 2,
  },
  {
    name: "terraform-provider-helm",
    ldflags: "-X main.Version=3.2.0",
    packages: ["github.com/hashicorp/terraform-provider-helm"],
    programs: { "terraform-provider-helm": ["terraform-provider-helm"] },
    minutes: 4,
  },
  { name: "coredns", ldflags: "", packages: ["."], programs: { coredns: ["coredns"] }, minutes: 3 },
  {
    name: "terraform-provider-kubernetes",
    ldflags: "",
    packages: ["github.com/hashicorp/terraform-provider-kubernetes"],
    programs: { "terraform-provider-kubernetes": ["terraform-provider-kubernetes"] },
    minutes: 4,
  },
];

/** Tools the node itself is made of. */
export const nodeTools = ["kubernetes", "etcd", "coredns"];
/** Tools that people and programs use against it. */
export const clientTools = ["helm", "kustomize", "terraform-provider-helm", "terraform-provider-kubernetes"];
