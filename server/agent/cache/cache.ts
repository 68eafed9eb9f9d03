/** Values by the digest of what they were made from: never wrong, only missing. */
export interface ContentCache {
  get(key: string): Promise<unknown | undefined>;
  set(key: string, value: unknown): Promise<void>;
  close(): Promise<void>;
}
