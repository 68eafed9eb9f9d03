import { repositoryCredential as noun } from "../../generated/repository-credential.ts";
import { judgeDelivered } from "../../wait/delivered.ts";
import { validateSignIn } from "../credentials/sign-in.ts";
import { createResource } from "../crud/resource.ts";

export const repositoryCredential = createResource(noun, { validate: validateSignIn, judge: judgeDelivered("url") });
