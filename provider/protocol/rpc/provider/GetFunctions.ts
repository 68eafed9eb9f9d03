import type { Message } from "../../messages.ts";
import type { Parameter, Provider } from "../../provider.ts";
import { typeBytes } from "../../schema.ts";
import type { Handler } from "../rpc.ts";

/** OpenTofu asks for functions alone. */
export const GetFunctions: Handler<"GetFunctions"> = async ({ provider }) => ({
  functions: await functionsOf(provider),
});

export async function functionsOf(provider: Provider): Promise<Map<string, Message<"Function">>> {
  const out = new Map<string, Message<"Function">>();
  for (const [name, load] of Object.entries(provider.functions)) {
    const { parameters, variadic, returns, summary, description } = await load();
    out.set(name, {
      parameters: parameters.map(parameterOf),
      ...(variadic ? { variadic_parameter: parameterOf(variadic) } : {}),
      return: { type: typeBytes(returns) },
      summary,
      description,
      description_kind: 1,
    });
  }
  return out;
}

const parameterOf = ({ name, type, description, nullable = false }: Parameter): Message<"Function.Parameter"> => ({
  name,
  type: typeBytes(type),
  description,
  description_kind: 1,
  allow_null_value: nullable,
});
