import type { NextFunction, Request, RequestHandler, Response } from "express";
import * as OpenApiValidator from "express-openapi-validator";
import document from "../../../../openapi/contract/openapi.json" with { type: "json" };
import type { OperationId } from "../../../../openapi/contract/operations.ts";
import type { Route } from "../route.ts";

type Found = { pathParams: Record<string, string> } & Record<string, unknown>;

/**
 * Checks requests against the contract; with `onBadAnswer`, answers too.
 *
 * The library finds the operation of each request by making a regular expression of each path until one fits: 0.3 to 1 ms. The route is known
 * here, so that is done once for each operation, and what the library has found is used again with the path's parameters of the request.
 */
export function validators(
  routeOf: (res: Response) => Route,
  onBadAnswer?: (error: Error, body: unknown, req: unknown) => void,
): RequestHandler[] {
  const found = new Map<OperationId, Found>();
  const steps = OpenApiValidator.middleware({
    apiSpec: structuredClone(document) as never,
    validateApiSpec: false,
    validateSecurity: false,
    validateRequests: { allErrors: false },
    validateResponses: onBadAnswer ? { onError: onBadAnswer } : false,
    fileUploader: false,
    // Half the time of the default at start-up; the document has no circles.
    $refParser: { mode: "dereference" },
  }) as RequestHandler[];
  return steps.map((look) => {
    if (look.name !== "metadataMiddleware") return look;
    return (req: Request & { openapi?: unknown }, res: Response, next: NextFunction) => {
      const { operation, params } = routeOf(res);
      const before = found.get(operation);
      if (before) {
        req.openapi = { ...before, pathParams: { ...params } };
        req.params = { ...params };
        next();
        return;
      }
      void look(req, res, (error?: unknown) => {
        if (!error && req.openapi) found.set(operation, req.openapi as Found);
        next(error);
      });
    };
  });
}
