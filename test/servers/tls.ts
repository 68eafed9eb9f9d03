import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./run.ts";

/** Paths of PEM files. */
export interface ServerCertificate {
  /** The authority that signed it, which a client has to trust. */
  ca: string;
  certificate: string;
  key: string;
}

/** Makes an authority and a server's certificate for these names in `dir`; `names` are as in OpenSSL: `DNS:x`, `IP:127.0.0.1`. */
export async function makeServerCertificate(
  dir: string,
  names = ["IP:127.0.0.1", "DNS:localhost"],
): Promise<ServerCertificate> {
  const file = (name: string) => join(dir, name);
  await writeFile(file("openssl.conf"), "[req]\ndistinguished_name=dn\n[dn]\n");
  const issue = async (name: string, subject: string, signer: string[], extensions: string[]) => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await writeFile(file(`${name}.key`), privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
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
      "2",
      ...extensions.flatMap((e) => ["-addext", e]),
      "-out",
      file(`${name}.crt`),
    ]);
  };
  await issue("ca", "/CN=test servers", [], ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"]);
  await issue(
    "server",
    "/CN=test server",
    ["-CA", file("ca.crt"), "-CAkey", file("ca.key")],
    [
      "basicConstraints=CA:FALSE",
      "keyUsage=digitalSignature,keyEncipherment",
      "extendedKeyUsage=serverAuth",
      `subjectAltName=${names.join(",")}`,
    ],
  );
  return { ca: file("ca.crt"), certificate: file("server.crt"), key: file("server.key") };
}
