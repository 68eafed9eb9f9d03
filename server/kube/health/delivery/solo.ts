import { type Checks, each } from "../rules.ts";
import { type Health, type HealthCheck, health } from "../types.ts";

interface State {
  state?: string | number;
  reason?: string;
}

/** Old releases write the number of a state, newer ones its name. */
const WORDS = ["Pending", "Accepted", "Rejected", "Warning"];

function verdict({ state, reason }: State): Health | undefined {
  switch (typeof state === "number" ? WORDS[state] : state) {
    case "Accepted":
      return health("Healthy", "The resource has been validated");
    case "Pending":
      return health("Suspended", "The resource has not yet been validated");
    case "Warning":
    case "Rejected":
      return health("Degraded", reason);
  }
  return undefined;
}

/** Each namespace that Gloo runs in has a voice; older releases have one for all. */
const validated: HealthCheck = ({ status = {} }) => {
  for (const state of Object.values<State>(status.statuses ?? {})) {
    const answer = verdict(state);
    if (answer) return answer;
  }
  return verdict(status) ?? health("Progressing", "Update in progress");
};

export const solo: Checks = {
  ...each(
    "gateway.solo.io",
    ["Gateway", "MatchableHttpGateway", "RouteOption", "RouteTable", "VirtualHostOption", "VirtualService"],
    () => validated,
  ),
  ...each("gloo.solo.io", ["Proxy", "Settings", "Upstream", "UpstreamGroup"], () => validated),
};
