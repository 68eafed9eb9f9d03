import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeServerCertificate } from "../../test/servers/tls.ts";
import { Transport } from "./transport/transport.ts";

const dir = mkdtempSync(join(tmpdir(), "rotate-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("a private authority that is replaced under a running worker is trusted from the next request on, and the old one no more", async () => {
  const made = async (name: string) => {
    mkdirSync(join(dir, name));
    return makeServerCertificate(join(dir, name));
  };
  const [old, next] = [await made("old"), await made("next")];
  const pair = (from: typeof old) => ({ cert: readFileSync(from.certificate), key: readFileSync(from.key) });
  const server = createServer(
    pair(old),
    (_, response) => void response.setHeader("content-type", "application/json").end("{}"),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const file = join(dir, "ca.crt");
  copyFileSync(old.ca, file);
  const endpoint = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const transport = new Transport({ endpoint, env: { OUTPOST_CA_FILE: file }, userAgent: "test" });
  const ask = async () => {
    const answer = await transport.call("GET", "/");
    return answer.kind === "done" ? "done" : answer.reason;
  };
  try {
    expect(await ask()).toBe("done");
    server.setSecureContext(pair(next));
    server.closeAllConnections();
    expect(await ask()).toBe("TlsFailed");
    copyFileSync(next.ca, file);
    utimesSync(file, 1, 1);
    expect(await ask()).toBe("done");
    server.setSecureContext(pair(old));
    server.closeAllConnections();
    expect(await ask()).toBe("TlsFailed");
  } finally {
    await transport.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
