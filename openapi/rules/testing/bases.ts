/** What the service and the provider refuse, and what both take. One table for both. */
export interface BadForm {
  name: string;
  collection: "applications" | "applicationsets" | "appprojects" | "clusters" | "pipelines";
  /** Laid over the base of the collection. */
  spec: Record<string, unknown>;
  pointer: string;
  detail: RegExp;
}

const AGENT = { agent: "forms" };
export const source = { repoUrl: "https://git.example/a.git", path: "." };
export const template = {
  metadata: { name: "{{ .name }}" },
  spec: { project: "default", destination: { name: "in-cluster" } },
};
export const BASES = {
  applications: { ...AGENT, destination: { namespace: "web" }, source },
  applicationsets: { ...AGENT, generators: [{ list: { elements: [{ name: "a" }] } }], template },
  appprojects: { ...AGENT },
  clusters: { ...AGENT, server: "https://k.example" },
  pipelines: {},
} as const;

/** A git generator. */
export const git = (part: object) => ({
  git: { repoURL: "https://git.example/a.git", directories: [{ path: "apps/*" }], ...part },
});
