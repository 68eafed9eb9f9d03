import type { Command, Option } from "commander";
import { EXIT, Failure } from "./output/failure.ts";
import type { Io } from "./output/io.ts";

/** `outpost completion bash|zsh|fish`: a small script that asks this program for the words that may come next. */
export function completionVerb(root: Command, io: Io): void {
  root
    .command("completion <shell>")
    .summary("completion for bash, zsh or fish: source <(outpost completion bash)")
    .action((shell: string) => {
      const script = SCRIPTS[shell];
      if (!script) throw new Failure(`there is no completion for ${JSON.stringify(shell)}; bash, zsh and fish are known`, EXIT.usage);
      io.out.write(script);
    });
  root
    .command("__complete [words...]", { hidden: true })
    .allowUnknownOption()
    .action((words: string[]) => {
      for (const word of complete(root, words)) io.out.write(`${word}\n`);
    });
}

/** The words that may stand where the last of `words` is being typed. */
export function complete(root: Command, words: readonly string[]): string[] {
  const typed = words.at(-1) ?? "";
  let at = root;
  let before: Option | undefined;
  for (const word of words.slice(0, -1)) {
    before = options(at, root).find((o) => (o.short === word || o.long === word) && (o.required || o.optional));
    const next = at.commands.find((c) => c.name() === word || c.aliases().includes(word));
    if (next) at = next;
  }
  if (before?.argChoices) return before.argChoices.filter((w) => w.startsWith(typed));
  if (before) return [];
  const found = typed.startsWith("-")
    ? options(at, root)
        .filter((o) => !o.hidden)
        .map((o) => o.long ?? o.short ?? "")
    : at.commands.filter((c) => !c.name().startsWith("__")).map((c) => c.name());
  return found.filter((w) => w.startsWith(typed));
}

const options = (at: Command, root: Command): readonly Option[] => (at === root ? at.options : [...at.options, ...root.options]);

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
