import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Secret } from "../../base/secret.ts";

/** Seals bytes so that who holds them can neither read nor change nor exchange them: AES-256-GCM, bound to what they are for. */
export class Box {
  readonly #key: Buffer;

  constructor(secret: Secret, purpose: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret.reveal(), "outpost", purpose, 32));
  }

  seal(content: string | Uint8Array, bound: string): Buffer {
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", this.#key, iv);
    cipher.setAAD(Buffer.from(bound));
    const sealed = Buffer.concat([cipher.update(content), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
  }

  /** Undefined when it was not sealed with this key for this purpose. */
  open(box: Buffer, bound: string): Buffer | undefined {
    if (box.length < 28) return undefined;
    const decipher = createDecipheriv("aes-256-gcm", this.#key, box.subarray(0, 12), { authTagLength: 16 });
    decipher.setAAD(Buffer.from(bound));
    decipher.setAuthTag(box.subarray(12, 28));
    try {
      return Buffer.concat([decipher.update(box.subarray(28)), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}
