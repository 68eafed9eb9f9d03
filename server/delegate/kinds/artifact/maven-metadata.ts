/** `maven-metadata.xml`: only what Maven writes there is read, with patterns, and the whole file is written again. */

interface About {
  groupId: string;
  artifactId: string;
  version: string;
  now: Date;
}

const PLAIN = /^[A-Za-z0-9_.+-]{1,255}$/;
const MAX_VERSIONS = 10_000;

const all = (text: string, tag: string) =>
  [...text.matchAll(new RegExp(`<${tag}>\\s*([^<]*?)\\s*</${tag}>`, "g"))].map((found) => found[1]!);
const between = (text: string, tag: string) => new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(text)?.[1] ?? "";

/** `20261121.093000`, in UTC. */
export const stampOf = (now: Date): string => now.toISOString().replace(/[-:]/g, "").slice(0, 15).replace("T", ".");
const updated = (now: Date) => stampOf(now).replace(".", "");

/** The artefact's list of versions, with one more. */
export function artifactMetadata({ groupId, artifactId, version, now }: About, known = ""): string {
  const before = all(between(known, "versions"), "version").filter((one) => PLAIN.test(one) && one !== version);
  const versions = [...before, version].slice(-MAX_VERSIONS);
  const releases = versions.filter((one) => !one.endsWith("-SNAPSHOT"));
  const release = version.endsWith("-SNAPSHOT")
    ? (all(known, "release").find((one) => PLAIN.test(one)) ?? releases.at(-1))
    : version;
  return `<?xml version="1.0" encoding="UTF-8"?>
<metadata>
  <groupId>${groupId}</groupId>
  <artifactId>${artifactId}</artifactId>
  <versioning>
    <latest>${version}</latest>
${release ? `    <release>${release}</release>\n` : ""}    <versions>
${versions.map((one) => `      <version>${one}</version>\n`).join("")}    </versions>
    <lastUpdated>${updated(now)}</lastUpdated>
  </versioning>
</metadata>
`;
}

/** The number of the last build of a snapshot; 0 when there is none. */
export const buildNumberOf = (known = ""): number => {
  const text = all(known, "buildNumber")[0] ?? "";
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
};

interface Build extends About {
  packaging: string;
  classifier: string | undefined;
  /** The version as it stands in the file's name. */
  named: string;
  number: number;
}

/** Which file is the snapshot's newest, for each extension and classifier. */
export function snapshotMetadata(
  { groupId, artifactId, version, packaging, classifier, named, number, now }: Build,
  known = "",
): string {
  const rows = between(known, "snapshotVersions")
    .split("</snapshotVersion>")
    .map((row) => ({
      extension: all(row, "extension")[0] ?? "",
      classifier: all(row, "classifier")[0],
      value: all(row, "value")[0] ?? "",
      updated: all(row, "updated")[0] ?? "",
    }))
    .filter((row) => [row.extension, row.value, row.updated, row.classifier ?? "x"].every((text) => PLAIN.test(text)))
    .filter((row) => row.extension !== packaging || row.classifier !== classifier);
  const every = [...rows, { extension: packaging, classifier, value: named, updated: updated(now) }];
  const lines = every.map(
    (row) => `      <snapshotVersion>
${row.classifier ? `        <classifier>${row.classifier}</classifier>\n` : ""}        <extension>${row.extension}</extension>
        <value>${row.value}</value>
        <updated>${row.updated}</updated>
      </snapshotVersion>
`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<metadata modelVersion="1.1.0">
  <groupId>${groupId}</groupId>
  <artifactId>${artifactId}</artifactId>
  <version>${version}</version>
  <versioning>
    <snapshot>
      <timestamp>${stampOf(now)}</timestamp>
      <buildNumber>${number}</buildNumber>
    </snapshot>
    <lastUpdated>${updated(now)}</lastUpdated>
    <snapshotVersions>
${lines.join("")}    </snapshotVersions>
  </versioning>
</metadata>
`;
}
