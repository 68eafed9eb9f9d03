import type { IncomingMessage } from "node:http";
import { originOf } from "./origin.ts";

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
