import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** Who is asked for the addresses of a name; a test puts its own in, whose answers change. */
export const resolver: { lookup: typeof lookup } = { lookup };

// Where an IPv4 address stands in an IPv6 one, and a gateway or the kernel may take it out again: mapped, compatible, translated (RFC 2765), NAT64
// (RFC 6052 and 8215), 6to4. Mapped ones the list itself knows.
const AROUND: [before: string, bits: number][] = [
  ["0:0:0:0:0:0", 96],
  ["0:0:0:0:ffff:0", 96],
  ["64:ff9b:0:0:0:0", 96],
  ["64:ff9b:1:0:0:0", 96],
  ["2002", 16],
];

// Where clouds hand out the machine's own credentials: authors of tasks and repositories must not get at them.
const METADATA = list(
  [
    ["169.254.0.0", 16],
    ["100.100.100.200", 32],
    ["168.63.129.16", 32],
    ["192.0.0.192", 32],
  ],
  [
    ["fe80::", 10],
    ["fd00:ec2::", 32],
    ["fd20:ce::", 32],
  ],
);

const LOOPBACK = list(
  [
    ["127.0.0.0", 8],
    ["0.0.0.0", 8],
  ],
  [["::", 127]],
);

function list(four: [string, number][], six: [string, number][]): BlockList {
  const made = new BlockList();
  for (const [address, bits] of six) made.addSubnet(address, bits, "ipv6");
  for (const [address, bits] of four) {
    made.addSubnet(address, bits);
    const [a, b, c, d] = address.split(".").map(Number) as [number, number, number, number];
    const groups = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
    for (const [before, length] of AROUND)
      made.addSubnet(`${before}:${groups}${length === 16 ? ":0:0:0:0:0" : ""}`, length + bits, "ipv6");
  }
  return made;
}

// A check takes 1 ms, and the same few addresses are asked about with each request to a repository.
const MAX_KNOWN = 1_000;
const known = new Map<BlockList, Map<string, boolean>>();

function inside(list: BlockList, address: string): boolean {
  const answers = known.get(list) ?? new Map<string, boolean>();
  let answer = answers.get(address);
  if (answer === undefined) {
    if (answers.size >= MAX_KNOWN) answers.clear();
    answer = isInside(list, address);
    answers.set(address, answer);
    known.set(list, answers);
  }
  return answer;
}

function isInside(list: BlockList, address: string): boolean {
  // A zone says by which interface, not where to.
  const plain = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const version = isIP(plain);
  if (version === 4) return list.check(plain);
  return version === 6 && list.check(plain, "ipv6");
}

// A proxy would look these up where they mean the same.
const METADATA_NAMES =
  /^(metadata|instance-data|metadata\.google\.internal|instance-data\.ec2\.internal|metadata\.azure\.internal)\.?$/i;

/** Whether an address is one where clouds give a machine its credentials. */
export const isMetadata = (address: string): boolean => inside(METADATA, address) || METADATA_NAMES.test(address);

/** Whether an address is this machine itself. */
export const isLoopback = (address: string): boolean => inside(LOOPBACK, address);

// Names that public DNS cannot have (RFC 2606, 6761, 6762, 8375; `.internal` is reserved by ICANN): who gives them to this machine is its operator.
const PRIVATE_NAME = /(^|\.)(localhost|test|local|internal|home\.arpa)\.?$/i;

/** Whether a host named by a user may be this machine: its own address, or a name that only this machine's operator can give. */
export function mayBeLocal(host: string): boolean {
  const plain = host.replace(/^\[|\]$/g, "");
  return isIP(plain) ? isLoopback(plain) : !plain.replace(/\.$/, "").includes(".") || PRIVATE_NAME.test(plain);
}

/**
 * Which addresses are refused to who begins at a host: never a cloud's metadata, and this machine only for who named it. So no caller is led here
 * by a redirect, an index, or a name whose address changes.
 */
export function refusedFrom(host: string): (address: string) => boolean {
  const local = mayBeLocal(host);
  return (address) => isMetadata(address) || (!local && (isLoopback(address) || /(^|\.)localhost\.?$/i.test(address)));
}

/** Whether an address leads elsewhere than it reads: by dots or backslashes in its path, also as a server decodes them. */
export function isDetour(url: string): boolean {
  const path = url.replace(/^[a-z0-9+.-]+:\/\//i, "").replace(/[?#].*$/s, "");
  const plain = path.replace(/%2e/gi, ".").replace(/%2f/gi, "/").replace(/%5c/gi, "\\");
  return plain.includes("\\") || plain.split(/[/:]/).some((part) => part === "." || part === "..");
}

/** The code of the error that a guarded lookup gives. */
export const ADDRESS_REFUSED = "ADDRESS_REFUSED";

/** A lookup for `connect`: a name is resolved once, and the checked address is the one that is connected to. */
export function guardedLookup(refused: (address: string) => boolean, why: string): LookupFunction {
  return (host, options, give) => {
    resolver.lookup(host, { ...options, all: true }, (error, found) => {
      const safe = error ? [] : found.filter(({ address }) => !refused(address));
      if (error || safe.length === 0) {
        const none = error ?? Object.assign(new Error(why), { code: ADDRESS_REFUSED });
        return options.all ? give(none, []) : give(none, "", 0);
      }
      return options.all ? give(null, safe) : give(null, safe[0]!.address, safe[0]!.family);
    });
  };
}

/**
 * The addresses of a host, for a program that cannot be given a lookup and has to be told where to connect: a list without those refused, which
 * is empty when all are; undefined when there is no such name.
 */
export function safeAddresses(host: string, refused: (address: string) => boolean): Promise<string[] | undefined> {
  const plain = host.replace(/^\[|\]$/g, "");
  if (isIP(plain)) return Promise.resolve(refused(plain) ? [] : [plain]);
  return new Promise((resolve) =>
    resolver.lookup(plain, { all: true }, (error, found) =>
      resolve(error ? undefined : found.map(({ address }) => address).filter((address) => !refused(address))),
    ),
  );
}
