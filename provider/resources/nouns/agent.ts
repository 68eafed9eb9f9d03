import { forgetAgent } from "../../../openapi/known-agents.ts";
import { agent as noun } from "../../generated/agent.ts";
import { createResource } from "../crud/resource.ts";

export const agent = createResource(noun, {
  // Its key is not the one that an agent of this id had before.
  replaced: (client, { org, project, id }) =>
    forgetAgent(process.env, { endpoint: client.endpoint, account: client.keyAccount, org, project, agent: id }),
});
