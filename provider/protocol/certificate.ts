import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/**
 * A self-signed certificate for one process, written as DER by hand, since `node:crypto` makes none: CN and DNS name `localhost`
 * (go-plugin checks the name), for server and client, its own authority. P-256 is accepted and quick. The key never leaves memory.
 */
export function createCertificate(now = Date.now()): { key: KeyObject; der: Buffer; pem: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(set(sequence(oid("550403"), utf8String("localhost"))));
  const algorithm = sequence(oid("2a8648ce3d040302"));
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const day = 86_400_000;
  const extensions = sequence(
    // Basic constraints, critical: a certificate authority.
    sequence(oid("551d13"), boolean(true), octets(sequence(boolean(true)))),
    // Key usage, critical: digital signature, key encipherment, certificate signing.
    sequence(oid("551d0f"), boolean(true), octets(tlv(0x03, Buffer.of(2, 0xa4)))),
    // Extended key usage: server and client authentication.
    sequence(oid("551d25"), octets(sequence(oid("2b06010505070301"), oid("2b06010505070302")))),
    // Subject alternative name: the DNS name.
    sequence(oid("551d11"), octets(sequence(tlv(0x82, Buffer.from("localhost"))))),
  );
  const body = sequence(
    tlv(0xa0, integer(Buffer.of(2))),
    integer(serial),
    algorithm,
    name,
    sequence(time(now - day), time(now + 30 * day)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, extensions),
  );
  const signature = sign("sha256", body, privateKey);
  const der = sequence(body, algorithm, tlv(0x03, Buffer.concat([Buffer.of(0), signature])));
  const lines = der.toString("base64").match(/.{1,64}/g)!;
  return { key: privateKey, der, pem: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n` };
}

function tlv(tag: number, value: Buffer): Buffer {
  const { length } = value;
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  const size = length < 0x80 ? [length] : long;
  return Buffer.concat([Buffer.of(tag, ...size), value]);
}
const sequence = (...parts: Buffer[]): Buffer => tlv(0x30, Buffer.concat(parts));
const set = (...parts: Buffer[]): Buffer => tlv(0x31, Buffer.concat(parts));
const oid = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, "hex"));
const integer = (value: Buffer): Buffer => tlv(0x02, value);
const boolean = (value: boolean): Buffer => tlv(0x01, Buffer.of(value ? 0xff : 0));
const octets = (value: Buffer): Buffer => tlv(0x04, value);
const utf8String = (value: string): Buffer => tlv(0x0c, Buffer.from(value));
/** GeneralizedTime would be wrong before 2050, UTCTime after. */
function time(at: number): Buffer {
  const text = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, "");
  return text < "2050" ? tlv(0x17, Buffer.from(text.slice(2))) : tlv(0x18, Buffer.from(text));
}
