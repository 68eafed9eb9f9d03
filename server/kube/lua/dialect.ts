/**
 * Makes the engine, which speaks Lua 5.4, understand scripts written for 5.1, and takes away what reaches out of it: files, processes, other code,
 * byte code (which can be made to crash the engine) and the debugger. `string`, `table`, `math` and the clock of `os` remain.
 */
export const DIALECT = `
local real = { load = load, date = os.date, time = os.time, difftime = os.difftime, clock = os.clock, floor = math.floor }
os = { date = real.date, time = real.time, difftime = real.difftime, clock = real.clock }
io, debug, package, dofile, loadfile, collectgarbage = nil, nil, nil, nil, nil, nil
print = function() end

-- Nothing is loaded from anywhere: these are the tables that are there already.
local libraries = { os = os, string = string, table = table, math = math }
require = function(name) return libraries[name] or error("module '" .. tostring(name) .. "' is not available to scripts", 2) end

load = function(chunk, name, mode, env)
  if env == nil then return real.load(chunk, name, "t") end
  return real.load(chunk, name, "t", env)
end
loadstring = function(text, name) return real.load(text, name, "t") end
unpack = table.unpack
table.getn = function(t) return #t end
table.maxn = function(t)
  local most = 0
  for key in pairs(t) do if type(key) == "number" and key > most then most = key end end
  return most
end
string.gfind = string.gmatch
math.pow = function(x, y) return x ^ y end
math.mod = math.fmod
math.log10 = function(x) return math.log(x, 10) end

-- A quotient without a remainder reads 2 and not 2.0, as it did when there was but one kind of number.
local plain = tostring
local function tidy(value)
  if math.type(value) == "float" and value == real.floor(value) and value > -2^53 and value < 2^53 then return real.floor(value) end
  return value
end
tostring = function(value) return plain(tidy(value)) end
`;

/** The bounds of one run. */
export interface Bounds {
  timeoutMs: number;
  memoryBytes: number;
}

/** Argo CD gives its scripts as long, and no bound of memory. */
export const BOUNDS: Bounds = { timeoutMs: 1_000, memoryBytes: 64 * 1024 * 1024 };

/** One script with what it may see. */
export interface Question {
  id: number;
  script: string;
  globals: Record<string, unknown>;
}
export type LuaAnswer = { id: number; value: unknown } | { id: number; error: string };
export type FromThread = "ready" | LuaAnswer;
export interface ThreadData {
  wasm: string;
  memoryBytes: number;
}
