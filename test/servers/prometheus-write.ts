/** A series, and its samples as `[time in milliseconds, value]`. */
export interface Series {
  metric: string;
  labels?: Record<string, string>;
  samples: [time: number, value: number][];
}

/** Samples from one time to another, both included: the first gets number 0. */
export function every(stepMs: number, from: number, to: number, value: (index: number) => number): Series["samples"] {
  return Array.from({ length: Math.floor((to - from) / stepMs) + 1 }, (_, i) => [from + i * stepMs, value(i)]);
}

/** The text format with times, which promtool makes blocks of. */
export function openMetrics(series: Series[]): string {
  const quote = (text: string) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
  const number = (value: number) => {
    if (Number.isFinite(value)) return `${value}`;
    if (Number.isNaN(value)) return "NaN";
    return value > 0 ? "+Inf" : "-Inf";
  };
  const lines = series.flatMap(({ metric, labels = {}, samples }) => {
    const pairs = Object.entries(labels).map(([name, value]) => `${name}=${quote(value)}`);
    return samples.map(([time, value]) => `${metric}{${pairs.join(",")}} ${number(value)} ${time / 1000}`);
  });
  return [...lines, "# EOF", ""].join("\n");
}

/** Remote write 1.0: `WriteRequest { repeated TimeSeries { repeated Label { name, value }, repeated Sample { double, int64 } } }`. */
export function writeRequest(series: Series[]): Buffer {
  const text = (field: number, value: string) => bytes(field, Buffer.from(value));
  return Buffer.concat(
    series.map(({ metric, labels = {}, samples }) => {
      const all = Object.entries({ ...labels, __name__: metric }).sort(([a], [b]) => (a < b ? -1 : 1));
      const named = all.map(([name, value]) => bytes(1, Buffer.concat([text(1, name), text(2, value)])));
      const timed = samples.map(([time, value]) => {
        const double = Buffer.alloc(9, 0x09);
        double.writeDoubleLE(value, 1);
        return bytes(2, Buffer.concat([double, Buffer.from([0x10]), varint(time)]));
      });
      return bytes(1, Buffer.concat([...named, ...timed]));
    }),
  );
}

/** Snappy's block format without any compression: the length, and literals of at most 64 KiB. */
export function snappy(data: Buffer): Buffer {
  const parts = [varint(data.length)];
  for (let at = 0; at < data.length; at += 65_536) {
    const piece = data.subarray(at, at + 65_536);
    const tag = Buffer.from([61 << 2, 0, 0]);
    tag.writeUInt16LE(piece.length - 1, 1);
    parts.push(tag, piece);
  }
  return Buffer.concat(parts);
}

/** A field of bytes: its number and wire type 2, its length, itself. */
const bytes = (field: number, value: Buffer) =>
  Buffer.concat([Buffer.from([(field << 3) | 2]), varint(value.length), value]);

function varint(value: number): Buffer {
  const digits = [];
  let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
  for (; rest > 127n; rest >>= 7n) digits.push(Number(rest & 127n) | 128);
  return Buffer.from([...digits, Number(rest)]);
}
