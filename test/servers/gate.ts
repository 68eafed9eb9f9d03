import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A door in the way to a server on this machine, that can be shut: what was open is cut, and no client gets in. */
export interface Gate {
  readonly port: number;
  shut(): void;
  open(): void;
  stop(): Promise<void>;
}

export async function startGate(to: number): Promise<Gate> {
  const sockets = new Set<Socket>();
  let isOpen = true;
  const server = createServer((socket) => {
    if (!isOpen) return void socket.resetAndDestroy();
    const other = connect(to, "127.0.0.1");
    for (const one of [socket, other]) {
      sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        sockets.delete(one);
        socket.destroy();
        other.destroy();
      });
    }
    socket.pipe(other).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    shut: () => {
      isOpen = false;
      cut();
    },
    open: () => {
      isOpen = true;
    },
    stop: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
