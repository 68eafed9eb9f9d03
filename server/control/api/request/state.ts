import type { NextFunction, Request, Response } from "express";
import type { Caller } from "../../access/authenticate.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Route } from "../route.ts";

/** The state of a request on its way through the steps. */
export interface State {
  id: string;
  started: number;
  route?: Route;
  caller?: Caller | undefined;
  scope?: Scope;
  /** The client's address, and the network that counts as one client. */
  address: string;
  network: string;
  /** What the front has read already. */
  read?: { body: unknown };
  /** Gives back the place that the request holds. */
  leave?: () => void;
  /** Gives back the place of a large body. */
  bodyTaken?: () => void;
}

export const stateOf = (res: Response): State => res.locals as State;

/** A step; when its promise resolves the next one runs. */
export function step(work: (req: Request, res: Response) => Promise<void>) {
  return (req: Request, res: Response, next: NextFunction): void => {
    work(req, res).then(() => next(), next);
  };
}
