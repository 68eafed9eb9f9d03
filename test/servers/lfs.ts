import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface LfsObject {
  oid: string;
  size: number;
}

/** A Git server with Git LFS before it, as hosts have them: one address, the batch interface below each repository's. */
export interface LfsServer {
  url: string;
  /** Keeps a content; the text of its pointer. */
  put(content: string | Uint8Array): string;
  /** How a batch is answered from now on; undefined as it should be. */
  answer(how: ((object: LfsObject) => unknown) | undefined): void;
  /** How a content is given from now on. */
  give(how: ((response: ServerResponse, oid: string) => void) | undefined): void;
  /** Batches and downloads so far, with the credentials that came. */
  readonly seen: { path: string; authorization: string | undefined }[];
  stop(): Promise<void>;
}

export const pointer = (oid: string, size: number): string =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;

export async function startLfs(git: { port: number }, authorization?: string): Promise<LfsServer> {
  const contents = new Map<string, Buffer>();
  const seen: LfsServer["seen"] = [];
  let answer: ((object: LfsObject) => unknown) | undefined;
  let give: ((response: ServerResponse, oid: string) => void) | undefined;
  const batch = (body: string, response: ServerResponse) => {
    const { objects } = JSON.parse(body) as { objects: LfsObject[] };
    const found = ({ oid, size }: LfsObject) =>
      contents.has(oid)
        ? {
            oid,
            size,
            actions: { download: { href: `${url}/objects/${oid}`, header: { authorization: "RemoteAuth token" } } },
          }
        : { oid, size, error: { code: 404, message: "not here" } };
    response.writeHead(200, { "content-type": "application/vnd.git-lfs+json" });
    response.end(JSON.stringify({ transfer: "basic", objects: objects.map(answer ?? found) }));
  };
  const handle = (incoming: IncomingMessage, response: ServerResponse) => {
    const path = incoming.url ?? "/";
    const content = /^\/objects\/([0-9a-f]{64})$/.exec(path)?.[1];
    if (content || path.includes("/info/lfs/")) seen.push({ path, authorization: incoming.headers.authorization });
    if (content) {
      if (give) return give(response, content);
      return void response.writeHead(contents.has(content) ? 200 : 404).end(contents.get(content));
    }
    if (path.includes("/info/lfs/")) {
      if (authorization && incoming.headers.authorization !== authorization) return void response.writeHead(401).end();
      const chunks: Buffer[] = [];
      incoming
        .on("data", (chunk: Buffer) => chunks.push(chunk))
        .on("end", () => batch(Buffer.concat(chunks).toString(), response));
      return;
    }
    const { method, headers } = incoming;
    const onward = request({ host: "127.0.0.1", port: git.port, path, method, headers }, (back) => {
      response.writeHead(back.statusCode ?? 502, back.headers);
      back.pipe(response);
    });
    onward.on("error", () => response.destroy());
    incoming.pipe(onward);
  };
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    put: (content) => {
      const bytes = Buffer.from(content as string);
      const oid = createHash("sha256").update(bytes).digest("hex");
      contents.set(oid, bytes);
      return pointer(oid, bytes.length);
    },
    answer: (how) => {
      answer = how;
    },
    give: (how) => {
      give = how;
    },
    seen,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
