import { done, type Outcome, stop } from "../../base/outcome.ts";
import { describe, type KubeObject } from "../../kube/object.ts";
import { parseManifests } from "../../kube/yaml.ts";
import type { ApplicationSet } from "../appset/types.ts";
import type { Cluster } from "../appset/world/world.ts";
import type { Application } from "../controller/application.ts";
import { Settings } from "../controller/settings.ts";

const INVALID = "InputInvalid";
const TYPE = "argocd.argoproj.io/secret-type";

/** A text and where it is from. */
export interface InputFile {
  name: string;
  text: string;
}

/** What the given manifests say: what to render, and what holds while it is rendered. */
export interface Asked {
  applications: Application[];
  sets: ApplicationSet[];
  /** Of the Secrets of clusters: what a set's generator sees. */
  clusters: Cluster[];
  settings: Settings;
}

/** Reads Applications and ApplicationSets, and beside them `argocd-cm` and Secrets of clusters; another object is a mistake. */
export function readInputs(files: readonly InputFile[]): Outcome<Asked> {
  const asked: Asked = { applications: [], sets: [], clusters: [], settings: new Settings() };
  const maps: KubeObject[] = [];
  for (const { name, text } of files) {
    const objects = parseManifests(text, name);
    if (objects.kind !== "done") return objects;
    for (const object of objects.value) {
      const ours = object.apiVersion.startsWith("argoproj.io/");
      if (ours && object.kind === "Application") asked.applications.push(object as Application);
      else if (ours && object.kind === "ApplicationSet") asked.sets.push(object as ApplicationSet);
      else if (ours && object.kind === "AppProject") continue;
      else if (object.kind === "ConfigMap" && object.metadata.name === "argocd-cm") maps.push(object);
      else if (object.kind === "Secret" && object.metadata.labels?.[TYPE] === "cluster")
        asked.clusters.push(clusterOf(object));
      else return stop(INVALID, `${name}: ${describe(object)} is neither an Application nor an ApplicationSet`);
    }
  }
  asked.settings.replace(maps);
  const { problems } = asked.settings;
  if (problems.length) return stop(INVALID, problems.join("; "));
  if (asked.applications.length + asked.sets.length === 0) {
    return stop(INVALID, `${files.map(({ name }) => name).join(", ")}: no Application and no ApplicationSet`);
  }
  return done(asked);
}

function clusterOf({ metadata, data, stringData }: KubeObject): Cluster {
  const field = (name: string): string => {
    const value = data?.[name];
    return stringData?.[name] ?? (typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : "");
  };
  const { labels, annotations } = metadata;
  return {
    name: field("name") || metadata.name,
    server: field("server"),
    project: field("project"),
    labels,
    annotations,
  };
}
