/** How one folder of `tools/`, or of `tools-on-demand/`, becomes programs. */
export interface Recipe {
  /** The folder's name, which has go.mod and go.sum. */
  name: string;
  /** Built only when it is named, for what some tests alone need; it lives in `tools-on-demand/`. */
  onDemand?: true;
  /** Build tags. */
  tags?: string[];
  /** It has parts in C, so a C compiler is needed. */
  cgo?: true;
  /** Folders of a module which the program reads while it runs; copied beside it, as the module cache may be emptied. */
  files?: { module: string; folders: string[] };
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

const kubernetesPrograms = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "kubectl",
];

export const recipes: Recipe[] = [
  {
    name: "helm",
    ldflags: "-X helm.sh/helm/v3/internal/version.version=v3.22.0",
    packages: ["helm.sh/helm/v3/cmd/helm"],
    programs: { helm: ["helm"] },
    fits: { program: "helm", args: ["version", "--template", "{{.Version}}"], version: /^v3\.(1[6-9]|[2-9]\d)\./ },
    minutes: 3,
  },
  {
    name: "etcd",
    ldflags: "",
    packages: ["go.etcd.io/etcd/server/v3"],
    programs: { etcd: ["server", "v3"] },
    minutes: 2,
  },
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
    name: "jsonnet",
    ldflags: "",
    packages: ["github.com/google/go-jsonnet/cmd/jsonnet"],
    programs: { jsonnet: ["jsonnet"] },
    minutes: 1,
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
  {
    name: "registry",
    onDemand: true,
    ldflags: "-X github.com/distribution/distribution/v3/version.version=v3.1.2",
    packages: ["github.com/distribution/distribution/v3/cmd/registry"],
    programs: { registry: ["registry"] },
    minutes: 2,
  },
  {
    name: "gitea",
    onDemand: true,
    tags: ["sqlite", "sqlite_unlock_notify"],
    cgo: true,
    ldflags: "-X main.Version=1.26.0",
    packages: ["code.gitea.io/gitea"],
    programs: { gitea: ["gitea"] },
    files: { module: "code.gitea.io/gitea", folders: ["templates", "options", "public"] },
    minutes: 4,
  },
  {
    name: "prometheus",
    onDemand: true,
    // Tests name their targets; the ways to find some in clouds are most of what it would be built from.
    tags: ["remove_all_sd"],
    ldflags: "-X github.com/prometheus/common/version.Version=3.15.0",
    packages: ["github.com/prometheus/prometheus/cmd/prometheus", "github.com/prometheus/prometheus/cmd/promtool"],
    programs: { prometheus: ["prometheus"], promtool: ["promtool"] },
    minutes: 4,
  },
  // Its tag leaves out the plugins for clouds and databases.
  {
    name: "vault",
    onDemand: true,
    tags: ["minimal"],
    ldflags: "",
    packages: ["."],
    programs: { vault: ["vault"] },
    minutes: 5,
  },
];

/** Tools the node itself is made of. */
export const nodeTools = ["kubernetes", "etcd", "coredns"];
/** Tools that people and programs use against it. */
export const clientTools = ["helm", "kustomize", "jsonnet", "terraform-provider-helm", "terraform-provider-kubernetes"];
