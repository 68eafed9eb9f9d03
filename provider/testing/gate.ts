import { createServer, request as forward, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

type Which = (request: IncomingMessage) => boolean;

/** Passes everything on to a service, but for what it is told to hold for ever. */
export interface Gate {
  readonly endpoint: string;
  /** Requests that the service never hears of. */
  stopAt: Which | undefined;
  /** Requests that the service carries out, and whose answers are held back. */
  holdAt: Which | undefined;
  /** Lets go of the answers that were held back, so that a provider in this process comes to its end. */
  release(): void;
  close(): void;
}

export async function openGate(service: string): Promise<Gate> {
  const held: (() => void)[] = [];
  const server = createServer((request, response) => {
    if (gate.stopAt?.(request)) return;
    const isHeld = gate.holdAt?.(request) === true;
    const to = forward(
      new URL(request.url ?? "/", service),
      { method: request.method, headers: request.headers },
      (answer) => {
        const pass = () => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        };
        if (isHeld) held.push(pass);
        else pass();
      },
    );
    to.on("error", () => response.destroy());
    request.pipe(to);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const gate: Gate = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stopAt: undefined,
    holdAt: undefined,
    release: () => {
      for (const pass of held.splice(0)) pass();
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return gate;
}
