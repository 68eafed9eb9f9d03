import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Schemas } from "../../../openapi/client.ts";
import { inParallel } from "../../base/process/parallel.ts";
import { agentScope } from "../objects/seal.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import { OFFLINE } from "../programs.ts";
import type { Api } from "../session/api.ts";
import type { Session } from "../session/session.ts";

type Diff = Schemas["Diff"];
type Row = { group?: string; version?: string; kind: string; namespace?: string; name: string };

// An agent answers 12 questions of one tenant at once; others ask too.
const PARALLEL = 6;

/** What a folder of this machine would change in the cluster, if it were what Git has: rendered here by the repo server's own code. */
export async function localDiff(s: Session, id: string, path: string): Promise<Diff> {
  const api = await s.api();
  const app = await api.call<Schemas["Application"]>("getApplication", { path: { id } });
  const { spec } = app;
  if (!spec.source || spec.source.chart)
    throw usage(
      "--local compares an application with one source from Git; `outpost admin diff` takes a folder for each",
    );
  const root = await rootOf(path, spec.source.path ?? ".");
  const rows = ((app.status.resources ?? []) as Row[]).filter((row) => !isSecret(row));
  const [address, live, git] = await Promise.all([
    addressOf(api, app),
    inParallel(rows, (row) => liveOf(api, id, row), PARALLEL),
    api.call<Schemas["Manifests"]>("getApplicationManifests", { path: { id } }).catch(nothingFrom),
  ]);
  const { diffLocal } = await OFFLINE.local();
  const found = live.filter((one) => one !== undefined);
  const got = await diffLocal({ id, spec, address, folder: root, live: found, git: git?.manifests ?? [] });
  if (got.kind !== "done") throw new Failure(got.message, EXIT.usage);
  // The service shows digests of a Secret's values: what is in the folder cannot be compared with them.
  const items = got.value.filter((one) => !isSecret(one)).map(({ application: _, version: __, ...item }) => item);
  if (got.value.length > items.length || rows.length < (app.status.resources ?? []).length)
    s.io.err.write(`${s.e.dim("Secrets are left out: the service does not show their values")}\n`);
  return { items: items as Diff["items"] };
}

const isSecret = ({ group, kind }: Row): boolean => kind === "Secret" && !group;

/** The folder that stands for the repository: itself, or the one that the folder of the application lies in. */
async function rootOf(given: string, path: string): Promise<string> {
  const folder = resolve(given);
  if (!(await isFolder(folder))) throw usage(`--local takes a folder; ${given} is none`);
  if (await isFolder(join(folder, path))) return folder;
  let root = folder;
  for (const _ of path.split("/").filter((part) => part && part !== ".")) root = dirname(root);
  if (join(root, path) === folder) return root;
  throw usage(`${given} has no folder \`${path}\`, where the application is: give the checkout of its repository`);
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

async function addressOf(api: Api, { spec, org, project }: Schemas["Application"]): Promise<string> {
  const { repoUrl, repository } = spec.source!;
  if (repoUrl) return repoUrl;
  const [scope, id] = agentScope(String(repository), org ? { org, project } : api.scope);
  return (await api.call<Schemas["Repository"]>("getRepository", { path: { id }, scope })).spec.url;
}

async function liveOf(api: Api, id: string, row: Row): Promise<object | undefined> {
  const { group, kind, namespace, name } = row;
  const query = { ...(group ? { group } : {}), kind, ...(namespace ? { namespace } : {}), name };
  const got = await api
    .call<Schemas["LiveResource"]>("getApplicationResource", { path: { id }, query })
    .catch((error: unknown) => {
      // It is in Git and not in the cluster: that is a difference.
      if (error instanceof Failure && error.problem?.code === "agent_refused") return undefined;
      throw error;
    });
  return got?.live;
}

/** Git itself may not be renderable now: then it is not known which fields it had. */
function nothingFrom(error: unknown): undefined {
  if (error instanceof Failure && error.problem?.code === "agent_refused") return undefined;
  throw error;
}
