import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { request as requestTls } from "node:https";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, type PeerCertificate, rootCertificates, type TLSSocket } from "node:tls";
import { proxyFor } from "../../link/transport/proxy.ts";
import { type Check, fail, ok, skipped } from "./check.ts";

const DEADLINE_MS = 10_000;

export interface WireOptions {
  endpoint: string;
  env: NodeJS.ProcessEnv;
}

/** DNS, proxy, TCP and TLS on the way to the service; ends at the first that fails. */
export async function checkWire({ endpoint, env }: WireOptions): Promise<Check[]> {
  const url = new URL(endpoint);
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const proxy = proxyFor(url.origin, env);
  const checks: Check[] = [];
  const first = proxy ? new URL(proxy).hostname : host;
  checks.push(await checkDns(first, proxy ? "the proxy's name" : "the service's name"));
  if (last(checks) === "fail") return checks;
  const target = `${host}:${port}`;
  let socket: Socket;
  if (proxy) {
    const tunnel = await openTunnel(new URL(proxy), target, env);
    if (typeof tunnel === "string") return [...checks, fail("proxy", tunnel)];
    checks.push(
      ok("proxy", `${shown(proxy)} connects to ${target}`),
      skipped("tcp", "the proxy connects to the service"),
    );
    socket = tunnel;
  } else {
    checks.push(skipped("proxy", "none is set for this address"));
    const direct = await openTcp(host, port);
    if (typeof direct === "string") return [...checks, fail("tcp", direct)];
    checks.push(ok("tcp", `${target} takes connections`));
    socket = direct;
  }
  if (url.protocol !== "https:") {
    socket.destroy();
    return [...checks, skipped("tls", "the address is http://: what is sent can be read on the way")];
  }
  checks.push(await checkTls(socket, host, env));
  return checks;
}

const last = (checks: Check[]) => checks.at(-1)?.state;

async function checkDns(host: string, what: string): Promise<Check> {
  if (isIP(host)) return skipped("dns", `${host} is an address already`);
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject({ code: "no answer in time" }), DEADLINE_MS).unref(),
  );
  try {
    const found = await Promise.race([lookup(host, { all: true }), late]);
    return ok("dns", `${host} is ${found.map(({ address }) => address).join(", ")}`);
  } catch (error) {
    return fail(
      "dns",
      `${what} ${host} cannot be resolved (${(error as { code?: string }).code}): look at the address and this machine's DNS`,
    );
  }
}

function openTcp(host: string, port: number): Promise<Socket | string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: DEADLINE_MS });
    socket.once("connect", () => resolve(socket.setTimeout(0)));
    socket.once("timeout", () => {
      socket.destroy();
      resolve(`${host}:${port} does not answer: a firewall or a network policy drops the connection`);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      const why =
        error.code === "ECONNREFUSED" ? "nothing listens there: look at the port" : "look at firewalls and routes";
      resolve(`no connection to ${host}:${port} (${codeOf(error)}): ${why}`);
    });
  });
}

/** Undici gives happy eyeballs' errors as one. */
const codeOf = (error: NodeJS.ErrnoException) => error.code ?? error.message;

function openTunnel(proxy: URL, target: string, env: NodeJS.ProcessEnv): Promise<Socket | string> {
  const name = shown(proxy.href);
  const basic =
    proxy.username &&
    Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString("base64");
  const secure = proxy.protocol === "https:";
  const options = {
    host: proxy.hostname,
    port: proxy.port || (secure ? 443 : 80),
    method: "CONNECT",
    path: target,
    headers: { host: target, ...(basic ? { "proxy-authorization": `Basic ${basic}` } : {}) },
    timeout: DEADLINE_MS,
    ...(secure ? { ca: authorities(env) } : {}),
  };
  return new Promise((resolve) => {
    const asked = secure ? requestTls(options) : request(options);
    asked.once("connect", (answer, socket) => {
      if (answer.statusCode === 200) return resolve(socket);
      socket.destroy();
      resolve(refusal(name, target, answer.statusCode ?? 0));
    });
    asked.once("response", (answer) => {
      asked.destroy();
      resolve(refusal(name, target, answer.statusCode ?? 0));
    });
    asked.once("timeout", () => asked.destroy(new Error("no answer in time")));
    asked.once("error", (error) =>
      resolve(`no connection to the proxy ${name} (${codeOf(error)}): look at HTTPS_PROXY`),
    );
    asked.end();
  });
}

function refusal(proxy: string, target: string, status: number): string {
  const hint =
    status === 407
      ? "it asks for a user name and password, or refuses the ones in HTTPS_PROXY (PROXY_USER, PROXY_PASSWORD)"
      : "it does not allow this connection: ask for an exception, or add the host to NO_PROXY";
  return `the proxy ${proxy} answered ${status} to CONNECT for ${target}: ${hint}`;
}

/** The CA file is for the service and beside the usual roots. */
function authorities(env: NodeJS.ProcessEnv): string[] | undefined {
  return env.OUTPOST_CA_FILE ? [...rootCertificates, readFileSync(env.OUTPOST_CA_FILE, "utf8")] : undefined;
}

async function checkTls(socket: Socket, host: string, env: NodeJS.ProcessEnv): Promise<Check> {
  let ca: string[] | undefined;
  try {
    ca = authorities(env);
  } catch (error) {
    socket.destroy();
    return fail("tls", `OUTPOST_CA_FILE cannot be read: ${(error as Error).message}`);
  }
  const from = ca
    ? `the CA in ${env.OUTPOST_CA_FILE} and the usual ones`
    : "the usual authorities; for a private CA set OUTPOST_CA_FILE";
  return new Promise((resolve) => {
    const end = (check: Check) => {
      clearTimeout(late);
      tls.destroy();
      resolve(check);
    };
    // Not refused by the library, so that the certificate can be shown.
    const tls: TLSSocket = connectTls({
      socket,
      ...(isIP(host) ? {} : { servername: host }),
      ...(ca ? { ca } : {}),
      rejectUnauthorized: false,
    });
    const late = setTimeout(() => end(fail("tls", `${host} does not finish the TLS handshake`)), DEADLINE_MS);
    tls.once("secureConnect", () => {
      const peer = tls.getPeerCertificate();
      if (tls.authorized)
        return end(ok("tls", `${tls.getProtocol()}, issued by ${issuerOf(peer)}, valid until ${peer.valid_to}`));
      end(
        fail(
          "tls",
          `${explain(String(tls.authorizationError), host, peer)}. It was issued by ${issuerOf(peer)}; trusted are ${from}`,
        ),
      );
    });
    tls.once("error", (error: NodeJS.ErrnoException) =>
      end(
        fail(
          "tls",
          `${host} does not speak TLS as expected (${codeOf(error)}): look at https:// against http:// and the port`,
        ),
      ),
    );
  });
}

function explain(code: string, host: string, peer: PeerCertificate): string {
  if (code.includes("CERT_HAS_EXPIRED"))
    return `the certificate expired on ${peer.valid_to}; this machine's clock says ${new Date().toISOString()}`;
  if (code.includes("CERT_NOT_YET_VALID"))
    return `the certificate is valid from ${peer.valid_from}; this machine's clock says ${new Date().toISOString()}`;
  if (/ALTNAME|HOSTNAME/i.test(code))
    return `the certificate is for ${peer.subjectaltname ?? peer.subject?.CN}, not for ${host}`;
  return `the certificate is not trusted (${code}): a private CA, or a proxy that inspects TLS`;
}

const issuerOf = ({ issuer }: PeerCertificate) =>
  [issuer?.CN, issuer?.O].filter(Boolean).join(", ") || "nobody that it names";
const shown = (proxy: string) => new URL(proxy).host;
