import type { Command } from "commander";

/** Shown at the end of a command's help, and in its page of the reference. A test parses each. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  login: ["outpost login https://outpost.example.com --key-file key.txt"],
  "app create": [
    "outpost app create web --agent prod --repository code --path deploy --revision main --dest-namespace web",
    "outpost app create web -f web.yaml",
  ],
  "app set": ["outpost app set web --revision v2", "outpost app set web --set source.helm.valuesObject.replicas=3"],
  "app list": [
    "outpost app list -l team=shop --sort-by health",
    "outpost app list --filter 'health!=Healthy,agent in (a,b)'",
  ],
  "app sync": [
    "outpost app sync web --prune",
    "outpost app sync web --dry-run",
    "outpost app sync -l team=shop,env!=dev --timeout 10m",
    "outpost app sync web --resource Deployment/api",
  ],
  "app wait": ["outpost app wait web api --for healthy", "outpost app wait --all --timeout 15m"],
  "admin import": [
    "outpost admin import -f argo.yaml --agent prod",
    "kubectl get applications,applicationsets,appprojects -A -o yaml | outpost admin import -f - --agent prod --apply",
  ],
  "app diff": [
    "outpost app diff web",
    "outpost app diff web --revision v2",
    "outpost app diff web --history 3",
    "outpost app diff web --local .",
  ],
  "app history": ["outpost app history web", "outpost app history web 3"],
  "app rollback": ["outpost app rollback web 3"],
  "app logs": ["outpost app logs web deploy/api --follow --since 10m"],
  "app action": ["outpost app action web deploy/api restart"],
  "app delete": ["outpost app delete web --cascade orphan --yes"],
  "service matrix": ["outpost service matrix --inherited", "outpost service matrix --filter health!=Healthy -o wide"],
  "service deployments": [
    "outpost service deployments checkout --environment production",
    "outpost service deployments --outcome Failed --inherited",
  ],
  "agent manifest": ["outpost agent manifest prod | kubectl apply -f -"],
  apply: ["outpost apply -f everything.yaml", "outpost app get web -o yaml | outpost apply -f -"],
  audit: ["outpost audit --noun app --target web --since 2h -o wide", "outpost audit --actor ci --outcome denied"],
  "task run": ["outpost task run shell.run --selectors linux --script 'uname -a' --follow"],
  "pipeline run": ["outpost pipeline run release --input tag=v2 --wait"],
  "apikey create": ["outpost apikey create ci --role editor --org team --expires-in 30d"],
};

export const EXAMPLE_LINES: readonly string[] = Object.values(EXAMPLES).flat();

/** The examples of a command, by its words below `outpost` or by those of an alias. */
export function examplesOf(command: Command): readonly string[] {
  const [parent, names] = [command.parent?.parent ? command.parent.name() : "", [command.name(), ...command.aliases()]];
  return names.flatMap((name) => EXAMPLES[parent ? `${parent} ${name}` : name] ?? []);
}

export function exampleText(command: Command): string {
  const lines = examplesOf(command);
  return lines.length ? `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}` : "";
}
