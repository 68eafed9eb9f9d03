/**
 * A task that runs as the delegate's user can change the bounds and priorities of the delegate, its supervisor and other tasks: with no files
 * or no processor time left they are blind, or killed. Landlock does not mediate these calls. This filter leaves them to a process for
 * itself (pid 0) and answers EPERM for all others. Landlock keeps tracing and memory of other processes closed, so that debuggers work within
 * a task. Keys of the kernel's user keyring would be one task's gift to the next.
 *
 * Shared memory, semaphores and queues of System V, and message queues of POSIX, outlive their task and are every task's of that user, or of
 * every user by their mode. Without a namespace of their own they are refused.
 */
interface Processor {
  audit: number;
  seccomp: number;
  calls: readonly Rule[];
  /** In turn: shmget, shmat, shmctl, semget, semop, semctl, msgget, msgsnd, msgrcv, msgctl, semtimedop, mq_open, mq_unlink. */
  shared: readonly number[];
  /** From this number on calls are those of x32, with numbers of their own. */
  other?: number;
}
/** A call that is allowed when each of these arguments, by its place, has this value; never without one. */
type Rule = readonly [call: number, ...allowed: (readonly [place: number, value: number])[]];

const SELF = [0, 0] as const;
/** PRIO_PROCESS and IOPRIO_WHO_PROCESS, then the process. */
const OWN_PRIORITY = [SELF, [1, 0]] as const;
const OWN_IO_PRIORITY = [
  [0, 1],
  [1, 0],
] as const;

const PROCESSORS: Partial<Record<NodeJS.Architecture, Processor>> = {
  // In turn: prlimit64, sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr, setpriority, ioprio_set, add_key,
  // request_key, keyctl.
  x64: {
    audit: 0xc000003e,
    seccomp: 317,
    other: 0x40000000,
    calls: [
      [302, SELF],
      [142, SELF],
      [144, SELF],
      [203, SELF],
      [314, SELF],
      [141, ...OWN_PRIORITY],
      [251, ...OWN_IO_PRIORITY],
      [248],
      [249],
      [250],
    ],
    shared: [29, 30, 31, 64, 65, 66, 68, 69, 70, 71, 220, 240, 241],
  },
  arm64: {
    audit: 0xc00000b7,
    seccomp: 277,
    calls: [
      [261, SELF],
      [118, SELF],
      [119, SELF],
      [122, SELF],
      [274, SELF],
      [140, ...OWN_PRIORITY],
      [30, ...OWN_IO_PRIORITY],
      [217],
      [218],
      [219],
    ],
    shared: [194, 196, 195, 190, 193, 191, 186, 189, 188, 187, 192, 180, 181],
  },
};

const [LOAD, EQUAL, AT_LEAST, RETURN] = [0x20, 0x15, 0x35, 0x06];
const ALLOW = 0x7fff0000;
const EPERM = 0x00050001;
/** Offsets in seccomp_data; the kernel reads process numbers from the low half of an argument. */
const [CALL, AUDIT, ARGUMENTS] = [0, 4, 16];

type Step = readonly [code: number, ifTrue: number, ifFalse: number, value: number];
const give = (value: number): Step => [RETURN, 0, 0, value];
const load = (offset: number): Step => [LOAD, 0, 0, offset];

/**
 * The filter as an argument for `landlock.ts`: the number of the call that sets it, and the program; undefined for other processors. A task
 * with a user of its own (`ownUser`) needs none of what is closed towards the delegate's.
 */
export function filterFor(arch: NodeJS.Architecture = process.arch, ownUser = false): string | undefined {
  const processor = PROCESSORS[arch];
  if (!processor) return undefined;
  const steps: Step[] = [load(AUDIT), [EQUAL, 1, 0, processor.audit], give(EPERM), load(CALL)];
  if (processor.other) steps.push([AT_LEAST, 0, 1, processor.other], give(EPERM));
  const shared = processor.shared.map((call): Rule => [call]);
  for (const [call, ...allowed] of [...(ownUser ? [] : processor.calls), ...shared]) {
    const checks = allowed.flatMap(([place, value]): Step[] => [
      load(ARGUMENTS + 8 * place),
      [EQUAL, 1, 0, value],
      give(EPERM),
    ]);
    const block = [...checks, give(allowed.length ? ALLOW : EPERM)];
    steps.push([EQUAL, 0, block.length, call], ...block);
  }
  steps.push(give(ALLOW));
  const bytes = Buffer.alloc(steps.length * 8);
  steps.forEach(([code, ifTrue, ifFalse, value], i) => {
    bytes.writeUInt16LE(code, i * 8);
    bytes.writeUInt8(ifTrue, i * 8 + 2);
    bytes.writeUInt8(ifFalse, i * 8 + 3);
    bytes.writeUInt32LE(value, i * 8 + 4);
  });
  return `${processor.seccomp}:${bytes.toString("hex")}`;
}
