import { Diagnostics } from "../schema/diagnostics.ts";
import { diagnosticsOf } from "./convert.ts";
import { orCrash } from "./crash.ts";
import type { Message, MessageName } from "./messages.ts";
import { ReadDataSource } from "./rpc/data/ReadDataSource.ts";
import { ValidateDataResourceConfig } from "./rpc/data/ValidateDataResourceConfig.ts";
import { CloseEphemeralResource } from "./rpc/ephemeral/CloseEphemeralResource.ts";
import { OpenEphemeralResource } from "./rpc/ephemeral/OpenEphemeralResource.ts";
import { RenewEphemeralResource } from "./rpc/ephemeral/RenewEphemeralResource.ts";
import { ValidateEphemeralResourceConfig } from "./rpc/ephemeral/ValidateEphemeralResourceConfig.ts";
import { CallFunction } from "./rpc/provider/CallFunction.ts";
import { ConfigureProvider } from "./rpc/provider/ConfigureProvider.ts";
import { GetFunctions } from "./rpc/provider/GetFunctions.ts";
import { GetMetadata } from "./rpc/provider/GetMetadata.ts";
import { GetProviderSchema } from "./rpc/provider/GetProviderSchema.ts";
import { GetResourceIdentitySchemas } from "./rpc/provider/GetResourceIdentitySchemas.ts";
import { StopProvider } from "./rpc/provider/StopProvider.ts";
import { ValidateProviderConfig } from "./rpc/provider/ValidateProviderConfig.ts";
import { ApplyResourceChange } from "./rpc/resource/ApplyResourceChange.ts";
import { ImportResourceState } from "./rpc/resource/ImportResourceState.ts";
import { MoveResourceState } from "./rpc/resource/MoveResourceState.ts";
import { PlanResourceChange } from "./rpc/resource/PlanResourceChange.ts";
import { ReadResource } from "./rpc/resource/ReadResource.ts";
import { UpgradeResourceState } from "./rpc/resource/UpgradeResourceState.ts";
import { ValidateResourceConfig } from "./rpc/resource/ValidateResourceConfig.ts";
import { caught, type Session } from "./session.ts";
import { decode, encode } from "./wire.ts";

/** Every RPC that is served. Others are answered with UNIMPLEMENTED, which newer cores understand as an older provider. */
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
