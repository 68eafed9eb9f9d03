import type { Schemas } from "./nouns.ts";
import { invalid } from "./problem.ts";

type Params = Record<string, any>;
type Rule = (params: Params, at: string) => void;

const given = (value: unknown): boolean => value !== undefined;

/** Exactly one of some fields. */
function one(of: Params, at: string, fields: readonly string[]): void {
  const found = fields.filter((field) => given(of[field]));
  const names = fields.map((f) => `\`${f}\``).join(", ");
  if (found.length === 0) throw invalid(`${at}/${fields[0]}`, `Give one of ${names}.`);
  if (found.length > 1) throw invalid(`${at}/${found[1]}`, `Give only one of ${names}.`);
}

/** Fields that mean nothing without another. */
function needs(of: Params, at: string, field: string, other: string): void {
  if (given(of[field]) && !given(of[other])) throw invalid(`${at}/${other}`, `\`${field}\` needs \`${other}\`.`);
}

function never(of: Params, at: string, field: string, why: string): void {
  if (given(of[field])) throw invalid(`${at}/${field}`, why);
}

function cluster(access: Params | undefined, at: string): void {
  if (!access) return;
  if (given(access.kubeconfig) && given(access.server)) throw invalid(`${at}/server`, "Give `kubeconfig`, or `server` with `token`.");
  needs(access, at, "token", "server");
  needs(access, at, "server", "token");
  needs(access, at, "context", "kubeconfig");
}

function registry(login: Params | undefined, at: string): void {
  if (!login) return;
  if (given(login.ecr) && given(login.password)) throw invalid(`${at}/ecr`, "Give `username` and `password`, or `ecr`.");
  if (!given(login.ecr)) {
    needs(login, at, "username", "password");
    needs(login, at, "password", "username");
  }
}

const registries: Rule = (p, at) => {
  for (const [i, login] of (p.registries ?? []).entries()) registry(login, `${at}/registries/${i}`);
};

function chart(of: Params, at: string): void {
  one(of, at, ["source", "oci", "repository"]);
  needs(of, at, "path", "source");
  needs(of, at, "repository", "name");
  if (!given(of.repository)) never(of, at, "name", "`name` belongs to `repository`.");
}

const account: Rule = (p, at) => {
  needs(p, at, "password", "username");
  if (given(p.bearer) && given(p.username)) throw invalid(`${at}/bearer`, "Give `bearer`, or `username` and `password`.");
};

const terraform: Rule = (p, at) => {
  if (p.policy && Object.keys(p.policy).length === 0)
    throw invalid(`${at}/policy`, "The policy says nothing: give a limit or `deny`, or leave it out.");
};

/** Rules between fields of a kind's parameters, which its schema cannot say. Each names the field and what to do. */
const RULES: Partial<Record<Schemas["TaskKind"], Rule>> = {
  "image.build": registries,
  "image.push": (p, at) => {
    one(p, at, ["artifact", "from"]);
    registries(p, at);
  },
  "registry.login": (p, at) => registry(p.login, `${at}/login`),
  "kubernetes.apply": (p, at) => {
    one(p, at, ["manifests", "source"]);
    needs(p, at, "path", "source");
    cluster(p.cluster, `${at}/cluster`);
  },
  "kubernetes.delete": (p, at) => {
    one(p, at, ["objects", "manifests", "source"]);
    needs(p, at, "path", "source");
    cluster(p.cluster, `${at}/cluster`);
  },
  "kubernetes.rollout": (p, at) => {
    if (p.action !== "undo") never(p, at, "toRevision", "`toRevision` belongs to the action `undo`.");
    cluster(p.cluster, `${at}/cluster`);
  },
  "helm.upgrade": (p, at) => {
    chart(p.chart, `${at}/chart`);
    cluster(p.cluster, `${at}/cluster`);
  },
  "helm.uninstall": (p, at) => cluster(p.cluster, `${at}/cluster`),
  "terraform.plan": terraform,
  "terraform.apply": (p, at) => {
    one(p, at, ["plan", "source"]);
    terraform(p, at);
  },
  "terraform.destroy": terraform,
  "artifact.upload": (p, at) => {
    one(p, at, ["artifact", "source"]);
    if (p.layout === "maven" && !given(p.maven)) throw invalid(`${at}/maven`, "The layout `maven` needs the coordinates in `maven`.");
    if (p.layout === "raw") never(p, at, "maven", "`maven` belongs to the layout `maven`.");
    account(p, at);
  },
  "http.request": (p, at) => {
    account(p, at);
    if (p.method === undefined || p.method === "GET" || p.method === "HEAD")
      never(p, at, "body", "A GET or HEAD request has no body: choose another `method`.");
  },
  "verify.prometheus": account,
  "gitops.updateReleaseRepo": (p, at) => {
    for (const [i, file] of p.files.entries()) one(file, `${at}/files/${i}`, ["set", "content"]);
    if (p.pullRequest === false && (p.waitForMergeSeconds ?? 0) > 0)
      throw invalid(`${at}/waitForMergeSeconds`, "Without a pull request there is no merge to wait for.");
  },
  "gitops.revertPR": (p, at) => one(p, at, ["number", "commit"]),
};

export function checkKindRules(kind: Schemas["TaskKind"], params: Params, at: string): void {
  RULES[kind]?.(params, at);
}
