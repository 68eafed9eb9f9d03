export type Level = "trace" | "debug" | "info" | "warn" | "error";
/** One line of the log. Fields must hold no secret: Terraform writes the log wherever TF_LOG_PATH says. */
export type Log = (level: Level, message: string, fields?: Record<string, unknown>) => void;

/** Terraform gives a level back to a line only if the time has six digits of a second. */
export const timestamp = (now: Date): string => now.toISOString().replace("Z", "000Z");

/** A log in the form that Terraform understands (hclog JSON), one object a line. */
export function createLog(module: string, write: (line: string) => void): Log {
  return (level, message, fields = {}) =>
    write(
      `${JSON.stringify({ ...fields, "@level": level, "@message": message, "@module": module, "@timestamp": timestamp(new Date()) })}\n`,
    );
}

/** A log that keeps quiet. */
export const silent: Log = () => {};
