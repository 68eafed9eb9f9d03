/** An answer that AWS gives instead of a result: `code` is what a client names the exception by. */
export class AwsError extends Error {
  readonly code: string;
  readonly status: number;
  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** Who asks: the user's or the assumed role's ARN. */
export interface Caller {
  arn: string;
  accessKeyId: string;
}

/** One operation of a service. */
// biome-ignore lint/suspicious/noExplicitAny: AWS's documents, which each operation takes apart itself.
export type Operation = (input: Record<string, any>, caller: Caller) => Record<string, unknown>;
