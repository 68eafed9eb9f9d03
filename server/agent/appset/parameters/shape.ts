import { MadeApplication } from "../../model/generated/shapes.ts";
import { misshapen as misfit, type Reading } from "../../model/shape.ts";

/** A set's own kind leaves its template open, and a patch is a text: their result is checked here. */
const READING: Reading = {
  isText: (value) => typeof value === "string" || value === null,
  isItem: (value) => typeof value === "object" && !Array.isArray(value),
  maxItems: Number.POSITIVE_INFINITY,
};

/** The first field of an application that has another type than an Application's; null counts as not set. */
export const misshapen = (application: object): string | undefined => misfit(MadeApplication, application, "", READING);
