import { createHash } from "node:crypto";
import type { Schemas } from "../../../../openapi/client.ts";
import { done, type Outcome } from "../../../base/outcome.ts";
import type { TaskFile } from "../../task/task-files.ts";
import type { HttpRepository } from "./http-repository.ts";
import { artifactMetadata, buildNumberOf, snapshotMetadata, stampOf } from "./maven-metadata.ts";

export interface MavenUpload {
  /** The repository's address. */
  root: string;
  file: TaskFile;
  maven: NonNullable<Schemas["TaskParamsArtifactUpload"]["maven"]>;
  now?: Date;
}

const CHECKSUMS = ["md5", "sha1", "sha256", "sha512"] as const;
// Two uploads of one moment may each write the list of versions without the other's.
const MERGES = 3;

/** Uploads a file the way Maven deploys it: the file and its checksums first, then the metadata that names it. Gives the file's address. */
export async function uploadMaven(
  { root, file, maven, now = new Date() }: MavenUpload,
  repository: HttpRepository,
): Promise<Outcome<string>> {
  const { groupId, artifactId, version, packaging = "jar", classifier } = maven;
  const artifact = `${root.replace(/\/+$/, "")}/${groupId.replaceAll(".", "/")}/${artifactId}`;
  const folder = `${artifact}/${version}`;
  const snapshot = version.endsWith("-SNAPSHOT");
  const known = snapshot ? await repository.get(`${folder}/maven-metadata.xml`) : done(undefined);
  if (known.kind !== "done") return known;
  const number = buildNumberOf(known.value) + 1;
  const named = snapshot ? `${version.slice(0, -"SNAPSHOT".length)}${stampOf(now)}-${number}` : version;
  const address = `${folder}/${artifactId}-${named}${classifier ? `-${classifier}` : ""}.${packaging}`;

  const sent = await repository.put(address, { size: file.size, open: file.stream });
  if (sent.kind !== "done") return sent;
  for (const algorithm of CHECKSUMS) {
    const summed = await repository.put(`${address}.${algorithm}`, await file.digest(algorithm), TEXT);
    if (summed.kind !== "done") return summed;
  }
  if (snapshot) {
    const text = snapshotMetadata(
      { groupId, artifactId, version, packaging, classifier, named, number, now },
      known.value,
    );
    const written = await putMetadata(`${folder}/maven-metadata.xml`, text, repository);
    if (written.kind !== "done") return written;
  }
  const merged = await mergeVersions(
    `${artifact}/maven-metadata.xml`,
    { groupId, artifactId, version, now },
    repository,
  );
  return merged.kind === "done" ? done(address) : merged;
}

const TEXT = { "content-type": "text/plain" };

async function mergeVersions(
  url: string,
  about: Parameters<typeof artifactMetadata>[0],
  repository: HttpRepository,
): Promise<Outcome<void>> {
  for (let round = 0; round < MERGES; round++) {
    const known = await repository.get(url);
    if (known.kind !== "done") return known;
    if (round > 0 && known.value?.includes(`<version>${about.version}</version>`)) break;
    const written = await putMetadata(url, artifactMetadata(about, known.value), repository);
    if (written.kind !== "done") return written;
  }
  return done(undefined);
}

async function putMetadata(url: string, text: string, repository: HttpRepository): Promise<Outcome<void>> {
  const written = await repository.put(url, text, { "content-type": "application/xml" });
  if (written.kind !== "done") return written;
  for (const algorithm of CHECKSUMS) {
    const summed = await repository.put(`${url}.${algorithm}`, createHash(algorithm).update(text).digest("hex"), TEXT);
    if (summed.kind !== "done") return summed;
  }
  return done(undefined);
}
