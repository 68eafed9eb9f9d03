import type { IncomingMessage } from "node:http";
import { TrustedProxies } from "../strangers/address.ts";
import { isOverTls, originOf } from "./origin.ts";

const asked = (host: string | undefined, localAddress = "127.0.0.1") =>
  ({ headers: { host }, socket: { localAddress, localPort: 8080 } }) as unknown as IncomingMessage;

test.each<[name: string, req: IncomingMessage, publicUrl: string | undefined, want: string]>([
  ["the public address", asked("evil.example"), "https://outpost.example.com", "https://outpost.example.com"],
  ["a loopback name, as of a forwarded port", asked("localhost:9999"), undefined, "http://localhost:9999"],
  ["another Host is not believed", asked("evil.example"), undefined, "http://127.0.0.1:8080"],
  ["nor one that begins like loopback", asked("127.0.0.1.evil.example"), undefined, "http://127.0.0.1:8080"],
  ["nor one with a path or user", asked("localhost@evil.example"), undefined, "http://127.0.0.1:8080"],
  ["a loopback Host from elsewhere is not believed", asked("localhost", "10.1.2.3"), undefined, "http://10.1.2.3:8080"],
  ["the address of the connection", asked("outpost", "::ffff:10.1.2.3"), undefined, "http://10.1.2.3:8080"],
  ["IPv6", asked("outpost", "fd00::1"), undefined, "http://[fd00::1]:8080"],
  ["no Host", asked(undefined), undefined, "http://127.0.0.1:8080"],
])("address of the service: %s", (_, req, publicUrl, want) => expect(originOf(req, publicUrl)).toBe(want));

const PUBLIC = "https://outpost.example.com";
const from = (remoteAddress: string, host = "outpost.example.com", proto?: string) =>
  ({
    headers: { host, ...(proto ? { "x-forwarded-proto": proto } : {}) },
    socket: { remoteAddress },
  }) as unknown as IncomingMessage;

test.each<[name: string, req: IncomingMessage, publicUrl: string | undefined, proxies: string[], want: boolean]>([
  ["without an https address", from("127.0.0.1"), undefined, [], false],
  ["with an http address", from("127.0.0.1"), "http://outpost.example.com", [], false],
  ["a proxy on this machine", from("127.0.0.1", "127.0.0.1:8080"), PUBLIC, [], true],
  ["a proxy elsewhere that keeps the Host", from("10.1.2.3"), PUBLIC, [], true],
  [
    "a client elsewhere that asked for the address of the machine",
    from("10.1.2.3", "10.9.9.9:8080"),
    PUBLIC,
    [],
    false,
  ],
  ["a client elsewhere that asked for another name", from("10.1.2.3", "evil.example"), PUBLIC, [], false],
  ["a proxy that says http", from("127.0.0.1", undefined, "http"), PUBLIC, [], false],
  ["a chain of proxies, one by http", from("10.0.0.1", undefined, "https, HTTP"), PUBLIC, ["10.0.0.0/8"], false],
  ["a named proxy", from("10.0.0.1", "10.9.9.9:8080", "https"), PUBLIC, ["10.0.0.0/8"], true],
  ["a named proxy over an IPv6 socket, which says nothing", from("::ffff:10.0.0.1"), PUBLIC, ["10.0.0.0/8"], true],
  ["past the named proxies", from("9.9.9.9"), PUBLIC, ["10.0.0.0/8"], false],
  ["past the named proxies, with a forged header", from("9.9.9.9", undefined, "https"), PUBLIC, ["10.0.0.0/8"], false],
  ["past the named proxies, from this machine", from("127.0.0.1"), PUBLIC, ["10.0.0.0/8"], false],
])("Strict-Transport-Security for %s", (_, req, publicUrl, proxies, want) =>
  expect(isOverTls(req, publicUrl, new TrustedProxies(proxies))).toBe(want),
);
