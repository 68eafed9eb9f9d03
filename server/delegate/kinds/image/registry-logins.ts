import type { Schemas } from "../../../../openapi/client.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { TaskContext } from "../../kind.ts";
import { ecrLoginFor } from "./ecr.ts";

/** A login as the kinds use it, with what ECR gave where it was asked. */
export interface RegistryLogin {
  registry: string;
  username?: string;
  password?: string;
  plainHttp: boolean;
  caCertificate?: string;
}

/** The logins of a task's parameters, ready to be used. */
export async function takeLogins(
  given: readonly Schemas["RegistryAuth"][],
  context: TaskContext,
): Promise<Outcome<RegistryLogin[]>> {
  const logins: RegistryLogin[] = [];
  for (const [i, login] of given.entries()) {
    const taken = await takeLogin(login, context);
    if (taken.kind !== "done") return stop(taken.reason, `/params/registries/${i}: ${taken.message}`);
    logins.push(taken.value);
  }
  return done(logins);
}

export async function takeLogin(login: Schemas["RegistryAuth"], context: TaskContext): Promise<Outcome<RegistryLogin>> {
  const { registry, username, password, ecr, plainHttp = false, caCertificate } = login;
  const base = {
    registry: registry.replace(/\/+$/, ""),
    plainHttp,
    ...(caCertificate === undefined ? {} : { caCertificate }),
  };
  if (ecr && (username !== undefined || password !== undefined))
    return stop("ParamsInvalid", "give `ecr`, or `username` and `password`, but not both");
  if (ecr) {
    const got = await ecrLoginFor(ecr, context);
    return got.kind === "done" ? done({ ...base, username: got.value.username, password: got.value.password }) : got;
  }
  if ((username === undefined) !== (password === undefined))
    return stop("ParamsInvalid", "a login has both `username` and `password`");
  if (username?.includes(":")) return stop("ParamsInvalid", "a user name with a colon cannot be sent");
  return done({ ...base, ...(username === undefined ? {} : { username, password: password! }) });
}

/** The login whose registry fits a place (`host/repository`) best: the longest. */
export function loginOf(place: string, logins: readonly RegistryLogin[]): RegistryLogin | undefined {
  const fits = ({ registry }: RegistryLogin) => place === registry || place.startsWith(`${registry}/`);
  return logins.filter(fits).sort((a, b) => b.registry.length - a.registry.length)[0];
}
