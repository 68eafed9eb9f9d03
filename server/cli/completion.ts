import type { Command, Option } from "commander";
import type { Typed } from "./completion-values.ts";
import { EXIT, Failure } from "./output/failure.ts";
import type { Io } from "./output/io.ts";

/** `outpost completion bash|zsh|fish`: a small script that asks this program for the words that may come next. */
export function completionVerb(root: Command, io: Io): void {
  root
    .command("completion <shell>")
    .summary("completion for bash, zsh or fish: source <(outpost completion bash)")
    .action((shell: string) => {
      const script = SCRIPTS[shell];
      if (!script)
        throw new Failure(
          `there is no completion for ${JSON.stringify(shell)}; bash, zsh and fish are known`,
          EXIT.usage,
        );
      io.out.write(script);
    });
  root
    .command("__complete [words...]", { hidden: true })
    .allowUnknownOption()
    .action(async (words: string[]) => {
      const found = complete(root, words);
      const typed = words.at(-1) ?? "";
      const more = found.values ? await (await import("./completion-values.ts")).valuesFor(io, found.values) : [];
      for (const word of [...found.words, ...more]) if (word.startsWith(typed)) io.out.write(`${word}\n`);
    });
}

interface Found {
  words: string[];
  /** Where the service knows what else may stand here. */
  values?: Typed;
}

/** The words that may stand where the last of `words` is being typed. */
export function complete(root: Command, words: readonly string[]): Found {
  const typed = words.at(-1) ?? "";
  let command = root;
  let waiting: Option | undefined;
  const args: string[] = [];
  const flags: Record<string, string> = {};
  for (const word of words.slice(0, -1)) {
    if (waiting) {
      flags[nameOf(waiting)] = word;
      waiting = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      waiting = options(command, root).find((o) => (o.short === word || o.long === word) && (o.required || o.optional));
      continue;
    }
    const next =
      args.length === 0 ? command.commands.find((c) => c.name() === word || c.aliases().includes(word)) : undefined;
    if (next) command = next;
    else args.push(word);
  }
  const from = (list: string[]) => list.filter((w) => w.startsWith(typed));
  if (waiting?.argChoices) return { words: from(waiting.argChoices) };
  if (waiting) return { words: [], values: { command, option: nameOf(waiting), args, flags } };
  if (typed.startsWith("-"))
    return {
      words: from(
        options(command, root)
          .filter((o) => !o.hidden)
          .map((o) => o.long ?? o.short ?? ""),
      ),
    };
  const verbs = args.length ? [] : command.commands.filter((c) => !c.name().startsWith("__")).map((c) => c.name());
  const values = command.registeredArguments.length ? { values: { command, args, flags } } : {};
  return { words: from(verbs), ...values };
}

const nameOf = (option: Option): string => (option.long ?? option.short ?? "").replace(/^-+/, "");

const options = (at: Command, root: Command): readonly Option[] =>
  at === root ? at.options : [...at.options, ...root.options];

const SCRIPTS: Record<string, string> = {
  bash: `_outpost() {
  local IFS=$'\\n'
  COMPREPLY=($(outpost __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [ \${#COMPREPLY[@]} -eq 0 ] && COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _outpost outpost
`,
  zsh: `#compdef outpost
_outpost() {
  local -a found
  found=("\${(@f)$(outpost __complete -- "\${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _outpost outpost
`,
  fish: `complete -c outpost -f -a '(outpost __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
};
