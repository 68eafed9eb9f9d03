/** How much the service keeps. */
export interface Limits {
  /** Tasks that may wait in one scope, and in the whole account. */
  queueScope: number;
  queueAccount: number;
  /** Objects of one agent that are shown without being managed. */
  discovered: number;
  /** Bytes of all files that tasks of an account leave. */
  artifactBytes: number;
  /** A task that has ended is forgotten after so long, with its log and files. */
  retentionSeconds: number;
  /** A finished sync of a service is forgotten after so long. */
  deploymentSeconds: number;
  /** Lines of the audit trail are removed after so long; 0 keeps them for ever. */
  auditSeconds: number;
  /** The folder where they are written first. */
  auditDir?: string | undefined;
}
