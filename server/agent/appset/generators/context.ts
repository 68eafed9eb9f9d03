import type { Outcome } from "../../../base/outcome.ts";
import type { Params } from "../parameters/params.ts";
import type { Rendering } from "../template/render.ts";
import type { Free } from "../types.ts";
import type { World } from "../world/world.ts";
import type { Work } from "./work.ts";

/** What every generator knows of the set it works for. */
export interface GeneratorContext {
  name: string;
  world: World;
  how: Rendering;
  work: Work;
  /** The project that the set's applications belong to, where the template names one for all: its repositories and credentials are the set's too. */
  project?: string;
  /** A refresh was asked for. */
  fresh: boolean;
}

/** Parameters from the settings of one generator. A `TemplateError` is the user's; anything else thrown is a bug. */
export type Generate = (settings: Free, context: GeneratorContext) => Promise<Outcome<Params[]>>;

/** A set of more applications than this is a mistake more often than a wish. */
export const MAX_PARAMS = 10_000;
