/** One row of an answer. */
export type Row = Record<string, any>;

/** Something that runs one statement: a connection inside or outside a transaction. */
export interface Sql {
  query<R extends Row = Row>(text: string, params?: unknown[]): Promise<R[]>;
}

/** A transaction. Topics named with `notify` wake their listeners once it is committed, on every replica. */
export interface Tx extends Sql {
  notify(account: string, topic: string): void;
}

/** A PostgreSQL, embedded or not. The two differ in nothing that a caller can see. */
export interface Database extends Sql {
  readonly kind: "embedded" | "postgres";
  /** Runs `work` in one transaction; a throw rolls it back. Repeats it when PostgreSQL asks for that. */
  transaction<T>(work: (tx: Tx) => Promise<T>, options?: { snapshot?: boolean }): Promise<T>;
  /** Wakes the listeners of a topic, on every replica, for what a statement outside a transaction has changed. */
  notify(account: string, topic: string): void;
  /** Calls `wake` after each commit that named the topic; the result stops that. */
  listen(account: string, topic: string, wake: () => void): () => void;
  /** The same for all topics that begin with a prefix ending in `:`; `wake` is given the rest. */
  listenAll(account: string, prefix: string, wake: (rest: string) => void): () => void;
  /** What PostgreSQL does by itself too late or, embedded, not at all; to be called every few seconds. */
  upkeep?(): Promise<unknown>;
  close(): Promise<void>;
}

/** Gives the time when a test wants another than the database's own; undefined means the database's own. */
export type FakeClock = () => Date | undefined;
