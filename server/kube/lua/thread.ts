import { parentPort, workerData } from "node:worker_threads";
import wasmoon from "wasmoon";
import { DIALECT, type LuaAnswer, type Question, type ThreadData } from "./dialect.ts";

const { LuaFactory, LuaLibraries } = wasmoon;
const NEEDED = [LuaLibraries.Base, LuaLibraries.Table, LuaLibraries.String, LuaLibraries.Math, LuaLibraries.OS];

/** Each run has an engine of its own: no script sees what another left behind. */
async function run(
  factory: InstanceType<typeof LuaFactory>,
  memoryBytes: number,
  { id, script, globals }: Question,
): Promise<LuaAnswer> {
  const engine = await factory.createEngine({
    openStandardLibs: false,
    injectObjects: false,
    enableProxy: false,
    traceAllocations: true,
  });
  try {
    const { global } = engine;
    for (const library of NEEDED) global.loadLibrary(library);
    engine.doStringSync(DIALECT);
    for (const [name, value] of Object.entries(globals)) global.set(name, without(value));
    global.setMemoryMax(memoryBytes);
    return { id, value: plain(engine.doStringSync(script)) };
  } catch (error) {
    return { id, error: String((error as Error)?.message ?? error).slice(0, 2_000) };
  } finally {
    engine.global.close();
  }
}

/** Lua has no null: a field without a value is a field that is not there. */
function without(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((inner) => inner !== null && inner !== undefined).map(without);
  if (typeof value !== "object" || value === null) return value ?? undefined;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null && inner !== undefined)
      .map(([key, inner]) => [key, without(inner)]),
  );
}

/** What can be sent to another thread: functions of a script stay behind. */
function plain(value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, inner]) => [String(key), plain(inner)]));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "function") return undefined;
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value)
        .map(([key, inner]) => [key, plain(inner)] as const)
        .filter(([, inner]) => inner !== undefined),
    );
  return value;
}

if (parentPort) {
  const port = parentPort;
  const { wasm, memoryBytes } = workerData as ThreadData;
  const factory = new LuaFactory(wasm);
  // The first engine compiles the machine; that is not counted as time of a script.
  factory.getLuaModule().then(
    () => port.postMessage("ready"),
    (error: Error) => {
      throw error;
    },
  );
  port.on("message", (question: Question) => {
    run(factory, memoryBytes, question).then((answer) => port.postMessage(answer));
  });
}
