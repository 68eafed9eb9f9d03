import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
} from "node:http2";
import { createCertificate } from "./certificate.ts";
import { dispatch, isServed } from "./dispatch.ts";
import { serveCall, type Unary } from "./grpc.ts";
import type { Log } from "./log.ts";
import type { Provider } from "./provider.ts";
import { Session } from "./session.ts";

export interface ServerOptions {
  readonly provider: Provider;
  readonly log: Log;
  /** PEM of the one client that may connect; none means plain HTTP/2, for tests. */
  readonly clientCertificate?: string | undefined;
  /** Terraform has one connection; called when it opens, and with the session's end. */
  readonly onOpen?: () => void;
  readonly onClose?: () => void;
  /** The polite end that Terraform asks for. */
  readonly onShutdown?: () => void;
}

/** Large states are single messages: Node's 10 MB for a session would cut them off. */
const settings = {
  maxSessionMemory: 1024,
  settings: { initialWindowSize: 4 * 1024 * 1024, maxFrameSize: 1024 * 1024 },
};

/** The HTTP/2 server of a provider, not yet listening, and the certificate that Terraform must expect. */
export function createProviderServer(options: ServerOptions): {
  server: Http2Server | Http2SecureServer;
  certificate: Buffer | undefined;
} {
  const { clientCertificate, log } = options;
  const sessions = new WeakMap<ServerHttp2Session, Session>();
  let server: Http2Server | Http2SecureServer;
  let certificate: Buffer | undefined;
  if (clientCertificate) {
    const own = createCertificate();
    certificate = own.der;
    const key = own.key.export({ type: "pkcs8", format: "pem" });
    server = createSecureServer({
      ...settings,
      key,
      cert: own.pem,
      ca: clientCertificate,
      requestCert: true,
      rejectUnauthorized: true,
    });
    // Terraform only says "Plugin did not respond"; the reason is here.
    server.on("tlsClientError", (error) => log("error", `TLS handshake with Terraform failed: ${error.message}`));
  } else server = createServer(settings);

  server.on("sessionError", (error) => log("warn", `session with Terraform failed: ${error.message}`));
  server.on("session", (http2: ServerHttp2Session) => {
    const session = new Session(options.provider, log);
    sessions.set(http2, session);
    http2.setLocalWindowSize?.(16 * 1024 * 1024);
    options.onOpen?.();
    http2.on("close", () => {
      session.stop("Terraform has closed the connection");
      void session.closeLeft().finally(() => options.onClose?.());
    });
  });
  server.on("stream", (stream, headers) => {
    const session = sessions.get(stream.session as ServerHttp2Session);
    if (session) serveCall(stream, headers, (path) => route(path, session, options));
  });
  return { server, certificate };
}

function route(path: string, session: Session, options: ServerOptions): Unary | "open" | undefined {
  const [, service, name = ""] = path.split("/");
  if (service === "tfplugin6.Provider" && isServed(name)) return (body) => dispatch(session, name, body);
  if (service !== "plugin.GRPCController" && service !== "plugin.GRPCStdio" && service !== "plugin.GRPCBroker")
    return undefined;
  if (name === "StreamStdio" || name === "StartStream") return "open";
  if (name !== "Shutdown") return undefined;
  return async () => {
    await session.closeLeft();
    // Without the polite end each process costs Terraform two seconds. The answer may leave first.
    setImmediate(() => options.onShutdown?.());
    return Buffer.alloc(0);
  };
}
