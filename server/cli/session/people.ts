import { type Collection, nouns } from "../../../openapi/contract/nouns.ts";
import { type OperationId, type OperationRow, operations } from "../../../openapi/contract/operations.ts";
import { didYouMean } from "../../../openapi/rules/suggest.ts";
import { Failure } from "../output/failure.ts";

/** What a request was about. */
export interface Asked {
  row: OperationRow;
  path?: Record<string, string> | undefined;
  scope: { org?: string | undefined; project?: string | undefined };
  /** The ids beside the one that was asked for. */
  ids(list: OperationId): Promise<string[]>;
}

/**
 * A refusal of the service in the words of the command line: it names the object and near ids, and speaks of commands where the service speaks
 * of headers. Other refusals stay as they are.
 */
export async function forPeople(failure: Failure, asked: Asked): Promise<Failure> {
  const { problem } = failure;
  const say = (message: string, hint?: string) =>
    new Failure(message, failure.exit, { ...(problem ? { problem } : {}), ...(hint ? { hint } : {}) });
  const id = asked.path?.id;
  const word = wordOf(asked.row);
  switch (problem?.code) {
    case "unauthenticated":
      return say(
        "the API key is not valid: it may have been revoked or have expired",
        "outpost login ENDPOINT, or set OUTPOST_API_KEY",
      );
    case "version_mismatch":
      return say(
        problem.currentVersion
          ? "it has changed since you read it: get it again and repeat your change"
          : failure.message,
      );
    case "already_exists":
      return id && word
        ? say(`there is already ${word} \`${id}\``, "`apply` or `patch` changes it; or choose another id")
        : failure;
    case "not_adopted": {
      const command = nouns[collectionOf(asked.row) as Collection]?.cli.word;
      return id && command ? say(failure.message, `outpost ${command} adopt ${id}`) : failure;
    }
    case "not_found":
      // A longer text says more than that nothing is there.
      if (!id || !word || !failure.message.startsWith("There is nothing here")) return failure;
      return say(
        `there is no ${word} \`${id}\`${placeOf(asked.scope)}, or this key may not see it.${await near(asked, id)}`,
      );
    default:
      return failure;
  }
}

const collectionOf = ({ path }: OperationRow): string => path.split("/")[2] ?? "";
const operationAt = (path: string): OperationId | undefined =>
  (Object.keys(operations) as OperationId[]).find(
    (id) => operations[id].method === "GET" && operations[id].path === path,
  );

/** `argo project mapping` for objects under /v1/argoprojectmappings. */
function wordOf(row: OperationRow): string | undefined {
  const get = operationAt(`/v1/${collectionOf(row)}/{id}`);
  return get
    ?.slice("get".length)
    .replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase();
}

function placeOf({ org, project }: Asked["scope"]): string {
  if (!org) return " in the account";
  return project ? ` in project ${project} of organization ${org}` : ` in organization ${org}`;
}

async function near({ row, ids }: Asked, id: string): Promise<string> {
  const list = operationAt(`/v1/${collectionOf(row)}`);
  if (!list) return "";
  try {
    return didYouMean(id, await ids(list));
  } catch (error) {
    // A key that may not list them gets the answer without a proposal.
    if (error instanceof Failure) return "";
    throw error;
  }
}
