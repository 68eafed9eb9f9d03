import { reason } from "../../../schema/diagnostics.ts";
import { messageOf, valueIn } from "../../convert.ts";
import { FunctionFault } from "../../provider.ts";
import type { Handler } from "../rpc.ts";

/** A fault names its argument, so that Terraform underlines it. */
export const CallFunction: Handler<"CallFunction"> = async (session, request) => {
  try {
    const part = await session.function(request.name);
    const args = (request.arguments ?? []).map((arg, i) => {
      const parameter = part.parameters[i] ?? part.variadic;
      if (!parameter) throw new FunctionFault("too many arguments", i);
      return valueIn(parameter.type, arg);
    });
    return { result: messageOf(part.returns, await part.call(args)) };
  } catch (error) {
    const argument = error instanceof FunctionFault ? error.argument : undefined;
    return { error: { text: reason(error), ...(argument === undefined ? {} : { function_argument: argument }) } };
  }
};
