import { keyOf, resolveReference, type Scope } from "../scope.ts";

/** A service or an environment with the scope that it is in. */
export interface Placed {
  org?: string;
  project?: string;
  id: string;
}

/** A label's value, or the longest reference. */
const LONGEST = 71;

/** The address, as `keyOf` writes it, of what an application calls its service or environment; none for what is no reference. */
export function addressOf(text: string | undefined, from: Scope): string | undefined {
  if (text === undefined || text === "" || text.length > LONGEST) return undefined;
  const place = resolveReference(text, from);
  return place && place.id !== "" ? keyOf(place.scope, place.id) : undefined;
}

/** An address on the wire. */
export function placedOf(address: string): Placed {
  const [org, project, ...id] = address.split("/");
  return {
    ...(org === "-" ? {} : { org: org! }),
    ...(project === "-" ? {} : { project: project! }),
    id: id.join("/"),
  };
}
