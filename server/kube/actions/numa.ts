import type { KubeObject } from "../object.ts";
import { type Action, annotation, annotationOf, set, write } from "./types.ts";

const FORCE = "numaplane.numaproj.io/force-promote";
const UPGRADE = "numaplane.numaproj.io/upgrade-state";
const DELETE = "numaplane.numaproj.io/marked-for-deletion";
const LOSS = "numaplane.numaproj.io/allow-data-loss";
const ALLOWED = "numaflow.numaproj.io/allowed-resume-strategies";
const RESUME = "numaflow.numaproj.io/resume-strategy";

const label = ({ metadata }: KubeObject, name: string): string | undefined => metadata.labels?.[name];

const forcePromote: Action = {
  name: "force-promote",
  disabled: (object) =>
    !["in-progress", "trial"].includes(label(object, UPGRADE) ?? "") || label(object, FORCE) === "true",
  run: set([["metadata", "labels", FORCE], "true"]),
};

interface Place {
  /** Where `lifecycle` is. */
  spec: readonly string[];
  /** The ways to resume that the pipeline allows. */
  allowed: (object: KubeObject) => string | undefined;
  /** A rollout that owns it would undo the action. */
  owner?: string;
}

function phaseAt(object: KubeObject, path: readonly string[]): unknown {
  let at: unknown = object;
  for (const step of path) at = (at as Record<string, unknown> | undefined)?.[step];
  return at;
}

/** Pause, and the two ways to go on: slowly by scaling up again from one, or at once. */
function pausing(place: Place, gradual: Action["run"], fast: Action["run"]): Action[] {
  const phase = [...place.spec, "lifecycle", "desiredPhase"];
  const owned = ({ metadata }: KubeObject) =>
    metadata.ownerReferences?.some((owner) => owner.kind === place.owner) === true;
  const isPaused = (object: KubeObject) => phaseAt(object, phase) === "Paused";
  const cannotGoOn = (object: KubeObject) => owned(object) || !isPaused(object);
  const going =
    (after: Action["run"]): Action["run"] =>
    (object, context) => {
      write(object, phase, "Running");
      return after(object, context);
    };
  return [
    { name: "pause", disabled: (object) => owned(object) || isPaused(object), run: set([phase, "Paused"]) },
    {
      name: "unpause-gradual",
      disabled: (object) => cannotGoOn(object) || place.allowed(object) === "fast",
      run: going(gradual),
    },
    {
      name: "unpause-fast",
      disabled: (object) => cannotGoOn(object) || !["fast", "slow, fast"].includes(place.allowed(object) ?? ""),
      run: going(fast),
    },
  ];
}

const own = (object: KubeObject) => annotationOf(object, ALLOWED) ?? object.spec?.metadata?.annotations?.[ALLOWED];
const inside = (part: string) => (object: KubeObject) => {
  const { metadata, spec } = object.spec?.[part] ?? {};
  return metadata?.annotations?.[ALLOWED] ?? spec?.metadata?.annotations?.[ALLOWED];
};
const fastResume = (value: boolean) => set([["spec", "strategy", "pauseResume", "fastResume"], value]);
const rollout = (part: string) =>
  pausing({ spec: ["spec", part, "spec"], allowed: inside(part) }, fastResume(false), fastResume(true));

export const numa: Record<string, Action[]> = {
  "numaflow.numaproj.io/InterStepBufferService": [forcePromote],
  "numaflow.numaproj.io/MonoVertex": [
    // Without a number of replicas it begins again at its smallest.
    ...pausing(
      { spec: ["spec"], allowed: own, owner: "MonoVertexRollout" },
      set([["spec", "replicas"], undefined]),
      set(),
    ),
    forcePromote,
  ],
  "numaflow.numaproj.io/Pipeline": [
    ...pausing(
      { spec: ["spec"], allowed: own, owner: "PipelineRollout" },
      set([annotation(RESUME), "slow"]),
      set([annotation(RESUME), "fast"]),
    ),
    forcePromote,
    {
      name: "delete",
      disabled: (object) => label(object, UPGRADE) !== "recyclable",
      run: set([annotation(DELETE), "true"]),
    },
  ],
  "numaplane.numaproj.io/MonoVertexRollout": rollout("monoVertex"),
  "numaplane.numaproj.io/PipelineRollout": [
    ...rollout("pipeline"),
    {
      name: "allow-data-loss",
      disabled: ({ status }) => status?.upgradeInProgress !== "PipelinePauseAndDrain",
      run: set([annotation(LOSS), "true"]),
    },
    {
      name: "disallow-data-loss",
      disabled: (object) => annotationOf(object, LOSS) !== "true",
      run: set([annotation(LOSS), "false"]),
    },
  ],
};
