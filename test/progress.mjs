/**
 * Progress for long commands, in plain JavaScript because it is needed before anything is installed.
 * On a terminal the line of the running step is rewritten in place; elsewhere each step is one line at its end, and a
 * line every half minute in between.
 */
const FRAMES = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];
const STILL_MS = 30_000;

/** Milliseconds as people read them: `0.4 s`, `12 s`, `3 min 05 s`. */
export function elapsed(ms) {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const s = Math.round(ms / 1_000);
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
}

/** Colours, off when piped, with NO_COLOR or on a dumb terminal. */
export function palette(stream = process.stdout, env = process.env) {
  const on =
    !env.NO_COLOR && (env.FORCE_COLOR ? env.FORCE_COLOR !== "0" : stream.isTTY === true && env.TERM !== "dumb");
  const paint = (open, close) => (text) => (on && text ? `\u001b[${open}m${text}\u001b[${close}m` : text);
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}

const c = palette();

/** One step: `note` changes what is said about it, `done`, `skip` and `fail` end it. */
export function begin(title, stream = process.stdout) {
  const started = Date.now();
  let text = "";
  let frame = 0;
  let said = started;
  const draw = () => {
    if (!stream.isTTY) {
      if (Date.now() - said < STILL_MS) return;
      said = Date.now();
      stream.write(`… ${title}${text ? `: ${text}` : ""} (${elapsed(Date.now() - started)})\n`);
      return;
    }
    const line = `${FRAMES[frame++ % FRAMES.length]} ${title}  ${elapsed(Date.now() - started)}${text ? `  ${text}` : ""}`;
    stream.write(`\r${[...line].slice(0, (stream.columns ?? 80) - 1).join("")}\u001b[K`);
  };
  const timer = setInterval(draw, stream.isTTY ? 120 : 1_000);
  timer.unref();
  if (stream.isTTY) draw();
  let ended = false;
  const end = (mark, why) => {
    if (ended) return;
    ended = true;
    clearInterval(timer);
    if (stream.isTTY) stream.write("\r\u001b[K");
    stream.write(
      `${mark} ${title}${why ? ` ${c.dim("·")} ${why}` : ""} ${c.dim(`(${elapsed(Date.now() - started)})`)}\n`,
    );
  };
  return {
    note(now) {
      text = now.replace(/\s+/g, " ").trim();
      draw();
    },
    done: (why = "") => end(c.green("✓"), why),
    skip: (why = "") => end(c.dim("–"), why),
    fail: (why = "") => end(c.red("✗"), why),
  };
}
