import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { REDACT_LIMITS } from "../../base/crypto/redact.ts";
import { memberOf, notFound, refused, type SecretSource, unavailable, utf8 } from "./source.ts";

/**
 * `file/NAME`: a file below the folder. Links may lead to other files of the folder, as those of mounted Kubernetes Secrets do, and not
 * out of it. The line break at the end of a single line is not part of the value.
 */
export const fileSource = (folder: string): SecretSource => ({
  async read(path, key) {
    if (
      path.includes("\0") ||
      path.includes("\\") ||
      path.split("/").some((part) => part === "" || part === "." || part === "..")
    )
      return refused("a path has names with / between them, no . and no ..");
    try {
      const root = await realpath(folder);
      const real = await realpath(join(root, path));
      if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) return refused(`the file leads out of ${folder}`);
      const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        if (!(await file.stat()).isFile()) return refused("it is not a file");
        const buffer = Buffer.alloc(REDACT_LIMITS.valueBytes + 1);
        const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
        if (bytesRead > REDACT_LIMITS.valueBytes)
          return refused(`the file is larger than ${REDACT_LIMITS.valueBytes / 1024} KiB`);
        const text = utf8(buffer.subarray(0, bytesRead));
        return text.kind === "done" ? memberOf(text.value.replace(/^([^\n]*?)\r?\n$/, "$1"), key) : text;
      } finally {
        await file.close();
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR") return notFound(`there is no such file in ${folder}`);
      if (code === "ELOOP" || code === "ENAMETOOLONG" || code === "EISDIR") return refused("it is not a file");
      if (code === "EACCES" || code === "EPERM") return refused(`the delegate may not read this file in ${folder}`);
      return unavailable(`the file cannot be read: ${code}`);
    }
  },
});
