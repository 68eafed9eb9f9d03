import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { parse } from "yaml";

/**
 * A store of files over HTTP, at the level of the protocol only: it is neither Nexus, Artifactory, a WebDAV server nor
 * ChartMuseum, none of which can be had as a module or package, but takes what their clients send.
 *
 *   PUT, GET, HEAD, DELETE /any/path      as Nexus' raw repositories, Artifactory's generic ones and WebDAV: PUT is 201, 204 over an old file
 *   MKCOL /any/path/                      201, or 405 where it is there
 *   POST /api/charts                      ChartMuseum: a chart's archive as the body or as the form's field `chart`; 409 when it is there
 *   GET /index.yaml, /charts/NAME-VERSION.tgz   what helm's repository client reads
 *
 *   const store = await startHttpStore({ users: { robot: "password" } });
 *   expect(store.files.get("/repository/raw/app/1/app.tgz")).toEqual(bytes);
 */
export interface HttpStore {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** Path → bytes. A test may put some in. */
  readonly files: Map<string, Buffer>;
  /** Every request, in order, those that were refused too. */
  readonly requests: StoreRequest[];
  /** The next `times` requests of a method are answered so; with `cut`, the connection is closed in the middle of the body instead. */
  fail(method: string, fault: { status?: number; cut?: boolean; times?: number }): void;
  stop(): Promise<void>;
}

export interface StoreRequest {
  method: string;
  path: string;
  user?: string;
  headers: IncomingMessage["headers"];
  size: number;
  status: number;
}

export interface HttpStoreOptions {
  /** User → password, for basic authentication. Without any, everybody may do everything. */
  users?: Record<string, string>;
  /** Answers 400 to a PUT over an old file, as a repository of releases does. */
  once?: boolean;
}

const MAX_BODY = 256 << 20;

export async function startHttpStore({ users = {}, once = false }: HttpStoreOptions = {}): Promise<HttpStore> {
  const files = new Map<string, Buffer>();
  const folders = new Set<string>();
  const requests: StoreRequest[] = [];
  const faults: { method: string; status: number; cut: boolean; times: number }[] = [];

  const act = (method: string, path: string, type: string, body: Buffer): Answer => {
    if (path === "/api/charts" && method === "POST") return addChart(files, type, body);
    if (path === "/index.yaml" && method === "GET" && !files.has(path))
      return { status: 200, body: index(files), type: "text/yaml" };
    const old = files.get(path);
    if (method === "PUT") {
      if (old && once) return { status: 400, body: "this repository does not allow updating assets" };
      files.set(path, body);
      return { status: old ? 204 : 201 };
    }
    if (method === "MKCOL") return { status: folders.has(path) ? 405 : folders.add(path) && 201 };
    if (!["GET", "HEAD", "DELETE"].includes(method)) return { status: 405 };
    if (!old) return { status: 404 };
    if (method === "DELETE") return { status: files.delete(path) ? 204 : 404 };
    return { status: 200, body: old, etag: `"${createHash("sha1").update(old).digest("hex")}"` };
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const { method = "", headers } = request;
    const path = decodeURIComponent((request.url ?? "/").split("?")[0]!);
    const [, user = "", password] =
      /^([^:]*):(.*)$/s.exec(
        Buffer.from(/^Basic (.*)$/.exec(headers.authorization ?? "")?.[1] ?? "", "base64").toString(),
      ) ?? [];
    const end = (answer: Answer) => {
      requests.push({ method, path, headers, size, status: answer.status, ...(user ? { user } : {}) });
      send(response, method, answer);
    };
    const fault = faults.find((f) => f.method === method && f.times-- > 0);
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (fault?.cut || size > MAX_BODY) request.destroy();
      else chunks.push(chunk);
    });
    request.on("end", () => {
      if (fault?.cut) return void request.destroy();
      if (fault) return end({ status: fault.status, body: "this test's fault" });
      if (Object.keys(users).length && (password === undefined || users[user] !== password))
        return end({ status: 401 });
      end(act(method, path, headers["content-type"] ?? "", Buffer.concat(chunks)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    files,
    requests,
    fail: (method, { status = 503, cut = false, times = 1 }) => void faults.push({ method, status, cut, times }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Answer {
  status: number;
  body?: Buffer | string;
  type?: string;
  etag?: string;
}

function send(
  response: ServerResponse,
  method: string,
  { status, body = "", type = "application/octet-stream", etag }: Answer,
): void {
  const headers = {
    "content-type": type,
    "content-length": Buffer.byteLength(body),
    ...(etag ? { etag } : {}),
    ...(status === 401 ? { "www-authenticate": 'Basic realm="store"' } : {}),
  };
  response.writeHead(status, status === 204 ? {} : headers).end(method === "HEAD" || status === 204 ? undefined : body);
}

/** ChartMuseum names the file after what Chart.yaml says, not after what the client calls it. */
function addChart(files: Map<string, Buffer>, type: string, body: Buffer): Answer {
  const json = (status: number, value: unknown): Answer => ({
    status,
    body: JSON.stringify(value),
    type: "application/json",
  });
  const archive = fromForm(type, body);
  const chart = archive && readChart(archive);
  if (!archive || !chart?.name || !chart.version) return json(400, { error: "chart file is not valid" });
  const path = `/charts/${chart.name}-${chart.version}.tgz`;
  if (files.has(path)) return json(409, { error: "file already exists" });
  files.set(path, archive);
  return json(201, { saved: true });
}

/** The body itself, or the field `chart` of a form. */
function fromForm(type: string, body: Buffer): Buffer | undefined {
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)/.exec(type)?.[1];
  if (!boundary) return body;
  const at = body.indexOf('name="chart"');
  const start = body.indexOf("\r\n\r\n", at) + 4;
  const end = body.indexOf(`\r\n--${boundary}`, start);
  return at < 0 || start < 4 || end < 0 ? undefined : body.subarray(start, end);
}

/** Chart.yaml of a chart's archive: the file NAME/Chart.yaml of the tar. */
function readChart(archive: Buffer): { name?: string; version?: string } | undefined {
  try {
    const tar = gunzipSync(archive, { maxOutputLength: MAX_BODY });
    for (let at = 0; at + 512 <= tar.length; ) {
      const text = (from: number, length: number) =>
        tar.toString("utf8", at + from, at + from + length).replace(/\0.*$/s, "");
      const size = Number.parseInt(text(124, 12), 8) || 0;
      if (/^[^/]+\/Chart\.yaml$/.test(text(0, 100))) return parse(tar.toString("utf8", at + 512, at + 512 + size));
      at += 512 + Math.ceil(size / 512) * 512;
    }
  } catch {
    // Not an archive.
  }
  return undefined;
}

/** JSON is YAML. */
function index(files: Map<string, Buffer>): string {
  const entries: Record<string, unknown[]> = {};
  for (const [path, bytes] of files) {
    const chart = path.startsWith("/charts/") ? readChart(bytes) : undefined;
    if (!chart?.name) continue;
    const digest = createHash("sha256").update(bytes).digest("hex");
    entries[chart.name] = [
      ...(entries[chart.name] ?? []),
      { ...chart, urls: [path.slice(1)], digest, created: "2026-01-01T00:00:00Z" },
    ];
  }
  return JSON.stringify({ apiVersion: "v1", entries });
}
