import type { NextFunction, Request, RequestHandler, Response } from "express";
import * as OpenApiValidator from "express-openapi-validator";
import documentChecker from "express-openapi-validator/dist/framework/openapi.schema.validator.js";
import document from "../../../../openapi/contract/openapi.json" with { type: "json" };
import type { OperationId } from "../../../../openapi/contract/operations.ts";
import { isOfShape, shapeFaults } from "../../../../openapi/rules/messages/shape.ts";
import { deref } from "../../domain/nouns.ts";
import type { Route } from "../route.ts";

// The library compiles the schema of OpenAPI itself even where it does not check the document against it: 0.12 s of each start.
Object.assign(documentChecker, { OpenAPISchemaValidator: class {} });

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
  return steps.map((step) => {
    const look: RequestHandler = (req, res, next) =>
      step(req, res, (error?: unknown) => next(error === undefined ? error : saidWell(error, routeOf(res), req.body)));
    if (step.name !== "metadataMiddleware") return look;
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

interface Refused {
  status?: number;
  errors?: { path?: string; message?: string }[];
}

/** Puts all that is missing or unknown in a body in the place of the one such fault at which the library stops. */
function saidWell(error: unknown, route: Route, body: unknown): unknown {
  const refused = error as Refused;
  if (refused?.status !== 400 || !Array.isArray(refused.errors)) return error;
  const others = refused.errors.filter((fault) => !fault.path?.startsWith("/body") || !isOfShape(fault.message ?? ""));
  const shape = shapeFaults(bodyOf(route), body, deref).map(({ pointer, detail }) => ({
    path: `/body${pointer}`,
    message: detail,
  }));
  if (others.length + shape.length > 0) refused.errors = [...others, ...shape];
  return refused;
}

type Schema = Record<string, any>;
const paths = document.paths as Record<string, Record<string, Schema>>;

/** The schema of an operation's body; without one, a schema that allows everything. */
function bodyOf({ row }: Route): Schema {
  const content: Record<string, { schema?: Schema }> =
    paths[row.path]?.[row.method.toLowerCase()]?.requestBody?.content ?? {};
  return Object.values(content)[0]?.schema ?? {};
}
