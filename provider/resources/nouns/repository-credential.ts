import { repositoryCredential as noun } from "../../generated/repository-credential.ts";
import { judgeDelivered } from "../../wait/delivered.ts";
import { createResource } from "../crud/resource.ts";
import { validateSignIn } from "../sign-in.ts";

export const repositoryCredential = createResource(noun, { validate: validateSignIn, judge: judgeDelivered("url") });
