import { networkOf, TrustedProxies } from "./address.ts";

test.each<[name: string, trusted: string[], peer: string, forwarded: string | undefined, want: string]>([
  ["no proxy is trusted by default", [], "10.0.0.1", "1.2.3.4", "10.0.0.1"],
  ["a trusted proxy names the client", ["10.0.0.0/8"], "10.0.0.1", "1.2.3.4", "1.2.3.4"],
  ["a stranger names nothing", ["10.0.0.0/8"], "9.9.9.9", "1.2.3.4", "9.9.9.9"],
  ["what the client wrote itself does not count", ["10.0.0.0/8"], "10.0.0.1", "127.0.0.1, 1.2.3.4", "1.2.3.4"],
  ["a chain of proxies is followed", ["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, 1.2.3.4, 10.0.0.7", "1.2.3.4"],
  ["an entry that is not an address ends the search", ["10.0.0.0/8"], "10.0.0.1", "1.2.3.4, unknown", "10.0.0.1"],
  ["IPv4 over an IPv6 socket", ["10.0.0.0/8"], "::ffff:10.0.0.1", "[2001:db8::1]:443", "2001:db8::1"],
  ["IPv6 proxies", ["fd00::/8"], "fd00::1", "1.2.3.4:5555", "1.2.3.4"],
  ["without the header it is the proxy", ["10.0.0.1"], "10.0.0.1", undefined, "10.0.0.1"],
])("client address: %s", (_, trusted, peer, forwarded, want) => {
  expect(new TrustedProxies(trusted).clientOf(peer, forwarded)).toBe(want);
});

test.each(["nonsense", "10.0.0.0/33", "10.0.0.0/8/8", "10.0.0.0/x", "::/129"])(
  "%s is not a range of addresses",
  (range) => {
    expect(() => new TrustedProxies([range])).toThrow(/CIDR/);
  },
);

test.each([
  ["1.2.3.4", "1.2.3.4"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::", "2001:db8:1:2::/64"],
  ["2001:0db8:0001:0002::9", "2001:db8:1:2::/64"],
  ["::1", "0:0:0:0::/64"],
  ["2001:db8::5", "2001:db8:0:0::/64"],
])("%s counts as %s", (address, want) => {
  expect(networkOf(address)).toBe(want);
});
