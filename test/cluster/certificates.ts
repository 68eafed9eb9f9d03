import { generateKeyPairSync } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../servers/run.ts";
import { NODE_NAME, network } from "./network.ts";

/** Who gets a certificate: the subject is what Kubernetes knows them by. */
const subjects: Record<string, { subject: string; use: string; names?: string[] }> = {
  apiserver: {
    subject: "/CN=kube-apiserver",
    use: "serverAuth,clientAuth",
    names: [
      ...[
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
      ].map((n) => `DNS:${n}`),
      ...["127.0.0.1", network.apiService, network.node].map((ip) => `IP:${ip}`),
    ],
  },
  "apiserver-kubelet": { subject: "/O=system:masters/CN=apiserver-kubelet-client", use: "clientAuth" },
  admin: { subject: "/O=system:masters/CN=admin", use: "clientAuth" },
  kcm: { subject: "/CN=system:kube-controller-manager", use: "clientAuth" },
  scheduler: { subject: "/CN=system:kube-scheduler", use: "clientAuth" },
  proxy: { subject: "/CN=system:kube-proxy", use: "clientAuth" },
  kubelet: {
    subject: `/O=system:nodes/CN=system:node:${NODE_NAME}`,
    use: "serverAuth,clientAuth",
    names: [`DNS:${NODE_NAME}`, `IP:${network.node}`, "IP:127.0.0.1"],
  },
};

/** A test cluster that runs longer than this has been forgotten. */
const DAYS = "365";

/** Makes a certificate authority and everything the cluster's programs need, in `pki`; about a quarter of a second. */
export async function makeCertificates(pki: string): Promise<void> {
  await mkdir(pki, { recursive: true, mode: 0o700 });
  const file = (name: string) => join(pki, name);
  await writeFile(file("openssl.conf"), "[req]\ndistinguished_name=dn\n[dn]\n");
  const issue = async (name: string, subject: string, extensions: string[], ca = true) => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await writeFile(file(`${name}.key`), privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
    const signer = ca ? ["-CA", file("ca.crt"), "-CAkey", file("ca.key")] : [];
    const args = [
      "req",
      "-x509",
      "-new",
      "-config",
      file("openssl.conf"),
      "-key",
      file(`${name}.key`),
      ...signer,
      "-subj",
      subject,
    ];
    await run("openssl", [
      ...args,
      "-days",
      DAYS,
      ...extensions.flatMap((e) => ["-addext", e]),
      "-out",
      file(`${name}.crt`),
    ]);
  };
  await issue(
    "ca",
    "/CN=outpost-test-ca",
    ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"],
    false,
  );
  await Promise.all(
    Object.entries(subjects).map(([name, { subject, use, names }]) => {
      const san = names ? [`subjectAltName=${names.join(",")}`] : [];
      return issue(name, subject, [
        "basicConstraints=CA:FALSE",
        "keyUsage=digitalSignature,keyEncipherment",
        `extendedKeyUsage=${use}`,
        ...san,
      ]);
    }),
  );
  const account = generateKeyPairSync("ec", { namedCurve: "P-256" });
  await writeFile(file("sa.key"), account.privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
  await writeFile(file("sa.pub"), account.publicKey.export({ type: "spki", format: "pem" }));
  for (const name of ["admin", "kcm", "scheduler", "proxy", "kubelet"]) {
    await writeKubeconfig(pki, name, file(`${name}.kubeconfig`), `https://127.0.0.1:${network.apiPort}`);
  }
}

/** Writes a kubeconfig for one of the certificates, with everything in the file itself. */
export async function writeKubeconfig(
  pki: string,
  user: string,
  to: string,
  server: string,
  context = "outpost",
): Promise<void> {
  const data = async (name: string) => (await readFile(join(pki, name))).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: context, cluster: { server, "certificate-authority-data": await data("ca.crt") } }],
    users: [
      {
        name: context,
        user: { "client-certificate-data": await data(`${user}.crt`), "client-key-data": await data(`${user}.key`) },
      },
    ],
    contexts: [{ name: context, context: { cluster: context, user: context } }],
    "current-context": context,
  };
  await writeFile(to, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
}
