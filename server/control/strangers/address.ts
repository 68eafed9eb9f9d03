import { BlockList, isIP } from "node:net";

/** Addresses of proxies whose `X-Forwarded-For` is believed. */
export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #any: boolean;

  /** @throws Error for an entry that is neither an address nor a CIDR range. */
  constructor(ranges: readonly string[] = []) {
    this.#any = ranges.length > 0;
    for (const range of ranges) {
      const [address = "", bits, ...more] = range.split("/");
      const family = isIP(address);
      const most = family === 4 ? 32 : 128;
      const length = bits === undefined ? most : Number(bits);
      if (family === 0 || more.length > 0 || (bits !== undefined && !/^[0-9]{1,3}$/.test(bits)) || length > most)
        throw new Error(`${JSON.stringify(range)} is neither an IP address nor a CIDR range such as 10.0.0.0/8`);
      this.#list.addSubnet(address, length, family === 4 ? "ipv4" : "ipv6");
    }
  }

  /** Whether the operator has named any. */
  get areNamed(): boolean {
    return this.#any;
  }

  has(peer: string): boolean {
    if (!this.#any) return false;
    const address = plain(peer);
    const family = isIP(address);
    return family !== 0 && this.#list.check(address, family === 4 ? "ipv4" : "ipv6");
  }

  /**
   * The client's address. `X-Forwarded-For` counts only on connections from a trusted proxy. It is read from the right: every proxy appends
   * the address it saw, so the first address that is not a trusted proxy is the client's. Everything left of it is the client's own text.
   */
  clientOf(peer: string, forwarded: string | undefined): string {
    let client = plain(peer);
    if (!this.has(client) || forwarded === undefined) return client;
    for (const entry of forwarded.split(",").reverse()) {
      const address = plain(entry.trim());
      if (isIP(address) === 0) return client;
      client = address;
      if (!this.has(client)) return client;
    }
    return client;
  }
}

/** An IPv4 address that came over an IPv6 socket, without the prefix; brackets and ports of proxies go too. */
function plain(address: string): string {
  const bare = /^\[([^\]]+)\](?::[0-9]+)?$/.exec(address)?.[1] ?? /^([0-9.]+):[0-9]+$/.exec(address)?.[1] ?? address;
  return /^::ffff:([0-9.]+)$/i.exec(bare)?.[1] ?? bare.replace(/%.*$/, "");
}

/** What counts as one client: an IPv4 address, or the /64 network of an IPv6 address, because one host can use all of that. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const before = head ? head.split(":") : [];
  const after = tail ? tail.split(":") : [];
  const zeros = tail === undefined ? 0 : Math.max(8 - before.length - after.length, 0);
  const groups = [...before, ...Array<string>(zeros).fill("0"), ...after].slice(0, 4);
  return `${groups.map((g) => g.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}
