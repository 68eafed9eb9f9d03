import type { Socket } from "node:net";

/** Connections on which no valid credential was shown: in all, and of one address. */
export interface SocketLimits {
  total: number;
  each: number;
}

/**
 * Bounds connections of strangers. The oldest one makes room for a new one: an honest client shows its key within moments of connecting, and
 * its connection is not counted from then on.
 */
export class StrangerSockets {
  readonly #limits: SocketLimits;
  /** By address, the oldest first. */
  readonly #byAddress = new Map<string, Set<Socket>>();
  readonly #all = new Map<Socket, string>();
  readonly #cut: () => void;

  /** @param cut is called with each connection that had to make room. */
  constructor(limits: SocketLimits, cut: () => void = () => {}) {
    this.#limits = limits;
    this.#cut = cut;
  }

  get size(): number {
    return this.#all.size;
  }

  opened(socket: Socket, address: string): void {
    const own = this.#byAddress.get(address) ?? new Set<Socket>();
    if (own.size >= this.#limits.each) this.#end([...own][0]!);
    else if (this.#all.size >= this.#limits.total) this.#end(this.#oldestOfMost());
    const now = this.#byAddress.get(address) ?? own;
    now.add(socket);
    this.#byAddress.set(address, now);
    this.#all.set(socket, address);
    socket.once("close", () => this.known(socket));
  }

  /** The connection is no stranger's any more, or it is closed. */
  known(socket: Socket): void {
    const address = this.#all.get(socket);
    if (address === undefined) return;
    this.#all.delete(socket);
    const own = this.#byAddress.get(address)!;
    own.delete(socket);
    if (own.size === 0) this.#byAddress.delete(address);
  }

  #oldestOfMost(): Socket {
    let most: Set<Socket> | undefined;
    for (const own of this.#byAddress.values()) if (own.size > (most?.size ?? 0)) most = own;
    const [oldest] = most!;
    return oldest!;
  }

  #end(socket: Socket): void {
    this.known(socket);
    this.#cut();
    socket.destroy();
  }
}
