/**
 * Releases that vendors publish of what `tools/` builds, in the same versions. A download takes seconds where a build takes minutes.
 * Plain JavaScript, because the quickstart asks for them before a package is installed.
 *
 *   url       the file; `sums` the vendor's list of SHA-256 sums, or the sum alone
 *   sha256    the sum where this repository pins it; else the vendor's list decides
 *   programs  program → its path in the archive; a file that is no archive has one program and no path
 */
const kubernetes = (program, sha256) => ({
  url: `https://dl.k8s.io/release/v1.33.13/bin/linux/amd64/${program}`,
  sums: `https://dl.k8s.io/release/v1.33.13/bin/linux/amd64/${program}.sha256`,
  ...(sha256 ? { sha256 } : {}),
  programs: { [program]: "" },
});

const terraformProvider = (name, version) => {
  const release = `https://releases.hashicorp.com/terraform-provider-${name}/${version}/terraform-provider-${name}_${version}`;
  return {
    url: `${release}_linux_amd64.zip`,
    sums: `${release}_SHA256SUMS`,
    programs: { [`terraform-provider-${name}`]: `terraform-provider-${name}_v${version}_x5` },
  };
};

export const downloads = {
  helm: [
    {
      url: "https://get.helm.sh/helm-v3.22.0-linux-amd64.tar.gz",
      sums: "https://get.helm.sh/helm-v3.22.0-linux-amd64.tar.gz.sha256sum",
      sha256: "1e4ab49e429626cf6c6958d914248b78c9730803c2751b87627e171dc800e7bb",
      programs: { helm: "linux-amd64/helm" },
    },
  ],
  etcd: [
    {
      url: "https://github.com/etcd-io/etcd/releases/download/v3.6.16/etcd-v3.6.16-linux-amd64.tar.gz",
      sums: "https://github.com/etcd-io/etcd/releases/download/v3.6.16/SHA256SUMS",
      programs: { etcd: "etcd-v3.6.16-linux-amd64/etcd" },
    },
  ],
  kubernetes: [
    kubernetes("kube-apiserver"),
    kubernetes("kube-controller-manager"),
    kubernetes("kube-scheduler"),
    kubernetes("kubelet", "0415ef7778646172f7aad830cbe09a7d903461eef9e15cd34193b85d95dfff0d"),
    kubernetes("kube-proxy"),
    kubernetes("kubectl"),
  ],
  kustomize: [
    {
      url: "https://github.com/kubernetes-sigs/kustomize/releases/download/kustomize%2Fv5.8.1/kustomize_v5.8.1_linux_amd64.tar.gz",
      sums: "https://github.com/kubernetes-sigs/kustomize/releases/download/kustomize%2Fv5.8.1/checksums.txt",
      sha256: "029a7f0f4e1932c52a0476cf02a0fd855c0bb85694b82c338fc648dcb53a819d",
      programs: { kustomize: "kustomize" },
    },
  ],
  jsonnet: [
    {
      url: "https://github.com/google/go-jsonnet/releases/download/v0.22.0/go-jsonnet_0.22.0_linux_amd64.tar.gz",
      sums: "https://github.com/google/go-jsonnet/releases/download/v0.22.0/checksums.txt",
      sha256: "e87a93ea44e34da92c15636205c7f2240bf3ac92d00ccb855dbb4e7e03ea6941",
      programs: { jsonnet: "jsonnet" },
    },
  ],
  coredns: [
    {
      url: "https://github.com/coredns/coredns/releases/download/v1.14.7/coredns_1.14.7_linux_amd64.tgz",
      sums: "https://github.com/coredns/coredns/releases/download/v1.14.7/coredns_1.14.7_linux_amd64.tgz.sha256",
      sha256: "9a09356438c6d9591cb80011a2a7a52f87fc3a113f6690e41f243f98b98faac9",
      programs: { coredns: "coredns" },
    },
  ],
  "terraform-provider-helm": [terraformProvider("helm", "3.2.0")],
  "terraform-provider-kubernetes": [terraformProvider("kubernetes", "3.2.1")],
};

/** How long a vendor may take to begin an answer. Where there is no way out, each host costs this once. */
const ANSWER_MS = 5_000;

/** Where a file is fetched: at its vendor, or below the mirror that `OUTPOST_DOWNLOADS` names; undefined when that says `off`. */
export function placeOf(url, env = process.env) {
  const mirror = env.OUTPOST_DOWNLOADS;
  if (!mirror) return url;
  if (mirror === "off") return undefined;
  const { host, pathname } = new URL(url);
  return `${mirror.replace(/\/+$/, "")}/${host}${pathname}`;
}

/** Those of the tools that their vendors' hosts offer now. With a proxy nothing is asked: not every Node.js uses it for this. */
export async function offered(names, env = process.env) {
  const proxy = env.HTTPS_PROXY ?? env.https_proxy;
  const asked = names.filter((name) => downloads[name] && placeOf(downloads[name][0].url, env));
  if (proxy) return asked;
  const answers = await Promise.all(asked.map((name) => answers200(placeOf(downloads[name][0].sums, env))));
  return asked.filter((_, index) => answers[index]);
}

async function answers200(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
