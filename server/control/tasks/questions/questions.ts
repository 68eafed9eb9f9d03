import { Places } from "../../../base/places.ts";
import { Problem } from "../../domain/problem.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Stored } from "../../store/objects/objects.ts";

/** Questions to agents that wait for an answer at the same time, and logs that are followed: of one replica of the service. */
export interface QuestionLimits {
  caller: number;
  /** Of one scope below the agent's, with all that is below it. */
  tenant: number;
  agent: number;
  account: number;
}

const LIMITS: QuestionLimits = { caller: 32, tenant: 64, agent: 128, account: 1_024 };

/**
 * Bounds questions to agents. Each one costs the agent a reading of its cluster, so one caller must not take all of an agent, nor the callers of
 * one tenant, nor one agent's callers all of the account. A question holds its places until it is answered, or withdrawn from the agent's queue.
 */
export class Questions {
  readonly #callers: Places;
  readonly #tenants: Places;
  readonly #agents: Places;
  readonly #accounts: Places;

  constructor({ caller, tenant, agent, account }: QuestionLimits = LIMITS) {
    const each = (limit: number) => new Places({ total: Number.POSITIVE_INFINITY, each: limit });
    [this.#callers, this.#tenants] = [each(caller), each(tenant)];
    [this.#agents, this.#accounts] = [each(agent), each(account)];
  }

  get waiting(): number {
    return this.#accounts.taken;
  }

  /**
   * Takes the places of a question; the result gives them back.
   * @throws Problem when the caller, the tenant, the agent or the account has too many questions already.
   */
  take(
    agent: Pick<Stored, "account" | "org" | "uid" | "id">,
    caller: string,
    scope: Pick<Scope, "org" | "project">,
  ): () => void {
    const held: (() => void)[] = [];
    const leave = () => {
      for (const one of held) one();
    };
    // The account's agent has organizations below it, an organization's has projects.
    const tenant = agent.org ? scope.project : scope.org;
    const wanted: [Places, string, string][] = [
      [this.#callers, `${agent.account} ${caller}`, "This caller waits for too many answers of agents."],
      ...(tenant
        ? [
            [
              this.#tenants,
              `${agent.account} ${agent.uid} ${tenant}`,
              `\`${tenant}\` waits for too many answers of agent \`${agent.id}\`.`,
            ] satisfies [Places, string, string],
          ]
        : []),
      [this.#agents, `${agent.account} ${agent.uid}`, `Too many questions wait for agent \`${agent.id}\`.`],
      [this.#accounts, agent.account, "Too many questions to agents wait in this account."],
    ];
    for (const [places, name, why] of wanted) {
      const place = places.tryTake(name);
      if (!place) {
        leave();
        throw new Problem("agent_busy", `${why} Try again when some are answered.`, { retryAfterSeconds: 2 });
      }
      held.push(place);
    }
    return leave;
  }
}
