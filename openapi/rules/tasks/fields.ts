import { type Fault, isObject, isText } from "../fault.ts";

type Params = Record<string, any>;
/** Whether a text gets its value later. */
type Later = (text: string) => boolean;
type Rule = (params: Params, at: string, isLater: Later) => Fault[];

const given = (value: unknown): boolean => value !== undefined && value !== null;
const fault = (pointer: string, detail: string): Fault[] => [{ pointer, detail }];
/** Values that are not objects, a pipeline's expressions among them, tell nothing here. */
const within = (value: unknown, check: (of: Params) => Fault[]): Fault[] => (isObject(value) ? check(value) : []);

/** Exactly one of some fields. */
function one(of: Params, at: string, fields: readonly string[]): Fault[] {
  const found = fields.filter((field) => given(of[field]));
  const names = fields.map((f) => `\`${f}\``).join(", ");
  if (found.length === 0) return fault(`${at}/${fields[0]}`, `Give one of ${names}.`);
  return found.length > 1 ? fault(`${at}/${found[1]}`, `Give only one of ${names}.`) : [];
}

/** Fields that mean nothing without another. */
const needs = (of: Params, at: string, field: string, other: string): Fault[] =>
  given(of[field]) && !given(of[other]) ? fault(`${at}/${other}`, `\`${field}\` needs \`${other}\`.`) : [];

const never = (of: Params, at: string, field: string, why: string): Fault[] =>
  given(of[field]) ? fault(`${at}/${field}`, why) : [];

const cluster = (access: unknown, at: string): Fault[] =>
  within(access, (of) =>
    given(of.kubeconfig) && given(of.server)
      ? fault(`${at}/server`, "Give `kubeconfig`, or `server` with `token`.")
      : [
          ...needs(of, at, "token", "server"),
          ...needs(of, at, "server", "token"),
          ...needs(of, at, "context", "kubeconfig"),
        ],
  );

const registry = (login: unknown, at: string): Fault[] =>
  within(login, (of) => {
    if (given(of.ecr)) return given(of.password) ? fault(`${at}/ecr`, "Give `username` and `password`, or `ecr`.") : [];
    return [...needs(of, at, "username", "password"), ...needs(of, at, "password", "username")];
  });

const registries = (p: Params, at: string): Fault[] =>
  Array.isArray(p.registries) ? p.registries.flatMap((login, i) => registry(login, `${at}/registries/${i}`)) : [];

const chart = (value: unknown, at: string): Fault[] =>
  within(value, (of) => [
    ...one(of, at, ["source", "oci", "repository"]),
    ...needs(of, at, "path", "source"),
    ...needs(of, at, "repository", "name"),
    ...(given(of.repository) ? [] : never(of, at, "name", "`name` belongs to `repository`.")),
  ]);

const account = (p: Params, at: string): Fault[] => [
  ...needs(p, at, "password", "username"),
  ...(given(p.bearer) && given(p.username)
    ? fault(`${at}/bearer`, "Give `bearer`, or `username` and `password`.")
    : []),
];

const terraform = (p: Params, at: string): Fault[] =>
  isObject(p.policy) && Object.keys(p.policy).length === 0
    ? fault(`${at}/policy`, "The policy says nothing: give a limit or `deny`, or leave it out.")
    : [];

/** Rules between fields of a kind's parameters, which its schema cannot say. Each names the field and what to do. */
const RULES: Readonly<Record<string, Rule>> = {
  "image.build": registries,
  "image.push": (p, at) => [...one(p, at, ["artifact", "from"]), ...registries(p, at)],
  "registry.login": (p, at) => registry(p.login, `${at}/login`),
  "kubernetes.apply": (p, at) => [
    ...one(p, at, ["manifests", "source"]),
    ...needs(p, at, "path", "source"),
    ...cluster(p.cluster, `${at}/cluster`),
  ],
  "kubernetes.delete": (p, at) => [
    ...one(p, at, ["objects", "manifests", "source"]),
    ...needs(p, at, "path", "source"),
    ...cluster(p.cluster, `${at}/cluster`),
  ],
  "kubernetes.rollout": (p, at, isLater) => [
    ...(p.action === "undo" || (isText(p.action) && isLater(p.action))
      ? []
      : never(p, at, "toRevision", "`toRevision` belongs to the action `undo`.")),
    ...cluster(p.cluster, `${at}/cluster`),
  ],
  "helm.upgrade": (p, at) => [...chart(p.chart, `${at}/chart`), ...cluster(p.cluster, `${at}/cluster`)],
  "helm.uninstall": (p, at) => cluster(p.cluster, `${at}/cluster`),
  "terraform.plan": terraform,
  "terraform.apply": (p, at) => [...one(p, at, ["plan", "source"]), ...terraform(p, at)],
  "terraform.destroy": terraform,
  "artifact.upload": (p, at) => [
    ...one(p, at, ["artifact", "source"]),
    ...(p.layout === "maven" && !given(p.maven)
      ? fault(`${at}/maven`, "The layout `maven` needs the coordinates in `maven`.")
      : []),
    ...(p.layout === "raw" ? never(p, at, "maven", "`maven` belongs to the layout `maven`.") : []),
    ...account(p, at),
  ],
  "http.request": (p, at) => [
    ...account(p, at),
    ...(["GET", "HEAD"].includes(p.method ?? "GET")
      ? never(p, at, "body", "A GET or HEAD request has no body: choose another `method`.")
      : []),
  ],
  "verify.prometheus": account,
  "gitops.updateReleaseRepo": (p, at) => [
    ...(Array.isArray(p.files) ? p.files : []).flatMap((file, i) =>
      within(file, (of) => one(of, `${at}/files/${i}`, ["set", "content"])),
    ),
    ...(p.pullRequest === false && p.waitForMergeSeconds > 0
      ? fault(`${at}/waitForMergeSeconds`, "Without a pull request there is no merge to wait for.")
      : []),
  ],
  "gitops.revertPR": (p, at) => one(p, at, ["number", "commit"]),
};

/** Conflicts between fields of a kind's parameters, whose form has been checked before. */
export const fieldFaults = (kind: string, params: unknown, isLater: Later): Fault[] =>
  within(params, (of) => RULES[kind]?.(of, "", isLater) ?? []);
