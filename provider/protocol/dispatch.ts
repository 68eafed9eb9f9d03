import { Diagnostics } from "../schema/diagnostics.ts";
import { diagnosticsOf } from "./convert.ts";
import { orCrash } from "./crash.ts";
import type { Message, MessageName } from "./messages.ts";
import { ApplyResourceChange } from "./rpc/ApplyResourceChange.ts";
import { CallFunction } from "./rpc/CallFunction.ts";
import { CloseEphemeralResource } from "./rpc/CloseEphemeralResource.ts";
import { ConfigureProvider } from "./rpc/ConfigureProvider.ts";
import { GetFunctions } from "./rpc/GetFunctions.ts";
import { GetMetadata } from "./rpc/GetMetadata.ts";
import { GetProviderSchema } from "./rpc/GetProviderSchema.ts";
import { GetResourceIdentitySchemas } from "./rpc/GetResourceIdentitySchemas.ts";
import { ImportResourceState } from "./rpc/ImportResourceState.ts";
import { MoveResourceState } from "./rpc/MoveResourceState.ts";
import { OpenEphemeralResource } from "./rpc/OpenEphemeralResource.ts";
import { PlanResourceChange } from "./rpc/PlanResourceChange.ts";
import { ReadDataSource } from "./rpc/ReadDataSource.ts";
import { ReadResource } from "./rpc/ReadResource.ts";
import { RenewEphemeralResource } from "./rpc/RenewEphemeralResource.ts";
import { StopProvider } from "./rpc/StopProvider.ts";
import { UpgradeResourceState } from "./rpc/UpgradeResourceState.ts";
import { ValidateDataResourceConfig } from "./rpc/ValidateDataResourceConfig.ts";
import { ValidateEphemeralResourceConfig } from "./rpc/ValidateEphemeralResourceConfig.ts";
import { ValidateProviderConfig } from "./rpc/ValidateProviderConfig.ts";
import { ValidateResourceConfig } from "./rpc/ValidateResourceConfig.ts";
import { caught, type Session } from "./session.ts";
import { decode, encode } from "./wire.ts";

/** Every RPC that is served. What is missing here is answered with UNIMPLEMENTED, which newer cores take for an older provider. */
const handlers = {
  ApplyResourceChange,
  CallFunction,
  CloseEphemeralResource,
  ConfigureProvider,
  GetFunctions,
  GetMetadata,
  GetProviderSchema,
  GetResourceIdentitySchemas,
  ImportResourceState,
  MoveResourceState,
  OpenEphemeralResource,
  PlanResourceChange,
  ReadDataSource,
  ReadResource,
  RenewEphemeralResource,
  StopProvider,
  UpgradeResourceState,
  ValidateDataResourceConfig,
  ValidateEphemeralResourceConfig,
  ValidateProviderConfig,
  ValidateResourceConfig,
};
export type RpcName = keyof typeof handlers;

export const isServed = (name: string): name is RpcName => Object.hasOwn(handlers, name);

type AnyHandler = (session: Session, request: object, diagnostics: Diagnostics) => Promise<object> | object;

/** One call, the same for every RPC: bytes → message → handler → message with the diagnostics → bytes. */
export async function dispatch(session: Session, name: RpcName, body: Buffer): Promise<Buffer> {
  const diagnostics = new Diagnostics();
  let response: object = {};
  try {
    const request = decode(`${name}.Request`, body);
    const handler = handlers[name] as AnyHandler;
    const work = (async () => handler(session, request, diagnostics))();
    // An apply watches for crashes itself, because its answer must hold the state.
    response = await (name === "ApplyResourceChange" ? work : orCrash(work));
  } catch (error) {
    caught(error, name, session.log, diagnostics);
  }
  const answer = {
    ...response,
    ...(diagnostics.list.length > 0 ? { diagnostics: diagnosticsOf(diagnostics.list) } : {}),
  };
  return encode(`${name}.Response` as MessageName, answer as Message<MessageName>);
}
