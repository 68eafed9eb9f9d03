/** The agent's own cluster and its addresses. The rules for texts know them too, in every program. */
export {
  HOME_NAME,
  HOME_SERVER,
  isHomeAddress,
  type PodEnvironment,
} from "../../../openapi/rules/argo/home-cluster.ts";
