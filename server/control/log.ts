import { type Logger, pino } from "pino";

/** Members whose values never reach the log, wherever they stand in a logged object, down to three levels. */
const SECRET = [
  "authorization",
  "cookie",
  "token",
  "session",
  "key",
  "password",
  "credentials",
  "sealedCredentials",
  "privateKey",
  "adminKey",
  "connectionString",
  "DATABASE_URL",
];

/** Structured logs on standard error, one JSON object a line. */
export function makeLogger(level: string, destination: { write(line: string): void } = process.stderr): Logger {
  const paths = SECRET.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
  return pino(
    {
      level,
      base: { program: "server" },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths, censor: "[secret]" },
      serializers: { err: errorOf },
    },
    destination,
  );
}

/** An error without its other members: database errors carry the parameters of their statement. */
function errorOf(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code } = error as NodeJS.ErrnoException;
  return {
    type: error.name,
    message: redact(error.message),
    ...(code ? { code } : {}),
    stack: redact(error.stack ?? ""),
  };
}

/** Our own credentials and the password of a database address, wherever they stand in a text. */
export function redact(text: string): string {
  return text
    .replace(/\b(opk|ows|ot1|ott)_[A-Za-z0-9_-]{8,}/g, "$1_[secret]")
    .replace(/(\w+:\/\/[^\s:/@]*:)[^\s@]+@/g, "$1[secret]@");
}
