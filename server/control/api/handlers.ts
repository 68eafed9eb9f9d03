import { type Collection, type NounOperation, type NounRow, nouns } from "../../../openapi/contract/nouns.ts";
import { getHealth, getMetrics, getReadiness, whoAmI } from "./account/account.ts";
import { createApiKey, deleteApiKey, listApiKeys } from "./account/apikeys.ts";
import { rotateServiceKey } from "./account/servicekey.ts";
import { renderAgentManifest, renderAgentValues, renderDelegateManifest } from "./agents/install.ts";
import {
  createAgentToken,
  createDelegateToken,
  listAgentTokens,
  listDelegateTokens,
  revokeAgentToken,
  revokeDelegateToken,
  rotateDelegateToken,
} from "./agents/tokens.ts";
import {
  refreshApplication,
  rollbackApplication,
  syncApplication,
  terminateApplication,
} from "./applications/actions.ts";
import { getApplicationLogs } from "./applications/logs.ts";
import {
  getApplicationDiff,
  getApplicationEvents,
  getApplicationHistory,
  getApplicationManifests,
  getApplicationResource,
  getApplicationRevision,
  getApplicationTree,
} from "./applications/read.ts";
import { runApplicationAction } from "./applications/resource-action.ts";
import { generateApplicationSet } from "./applications/sets.ts";
import { exportAudit, listAudit } from "./audit/read.ts";
import { getRepositoryCharts, getRepositoryRefs, testCluster, testRepository } from "./connections.ts";
import { getServiceMatrix } from "./deployments/matrix.ts";
import { getDeployment, listDeployments } from "./deployments/read.ts";
import { rollbackDeployment } from "./deployments/rollback.ts";
import { thenRescope } from "./discovered/mappings.ts";
import { count } from "./lists/count.ts";
import { list } from "./lists/list.ts";
import { getScopeMetrics } from "./lists/scope-metrics.ts";
import { remove, removeDelivered } from "./nouns/delete.ts";
import { getObject } from "./nouns/get.ts";
import { patch } from "./nouns/patch.ts";
import { put } from "./nouns/put.ts";
import { approveStep, rejectStep } from "./pipelines/approve.ts";
import { getRun, listRuns } from "./pipelines/read.ts";
import { cancelRun, runPipeline } from "./pipelines/run.ts";
import type { Services } from "./services.ts";
import { getTaskArtifact } from "./tasks/artifact.ts";
import { cancelTask } from "./tasks/cancel.ts";
import { createTask } from "./tasks/create.ts";
import { getTask, getTaskLogs, listTasks } from "./tasks/read.ts";
import { retryTask } from "./tasks/retry.ts";
import { watchTasks } from "./tasks/watch.ts";
import type { Handlers } from "./typed.ts";
import { watch, watchAll } from "./watching/watch.ts";
import { receiveWebhook } from "./webhooks/receive.ts";
import { rotateWebhookSecret } from "./webhooks/rotate.ts";
import { getWebhookSecret, withAddress } from "./webhooks/secret.ts";
import { putTaskArtifact } from "./worker/artifact.ts";
import { enrolWorker } from "./worker/enrol.ts";
import { exchange } from "./worker/exchange.ts";
import { heartbeat } from "./worker/heartbeat.ts";
import { workerHello } from "./worker/hello.ts";
import { openSession } from "./worker/session.ts";
import { appendTaskLogs, completeTask } from "./worker/task.ts";

/** Every operation of the contract and who serves it. The type makes the two lists equal. */
export function handlers(s: Services): Handlers {
  const ofNouns = nounHandlers(s);
  return {
    ...ofNouns,
    listWebhooks: withAddress(s, ofNouns.listWebhooks),
    getWebhook: withAddress(s, ofNouns.getWebhook),
    putWebhook: withAddress(s, ofNouns.putWebhook),
    patchWebhook: withAddress(s, ofNouns.patchWebhook),
    putOrganization: thenRescope(s, ofNouns.putOrganization),
    deleteOrganization: thenRescope(s, ofNouns.deleteOrganization),
    putProject: thenRescope(s, ofNouns.putProject),
    deleteProject: thenRescope(s, ofNouns.deleteProject),
    putApplicationSet: thenRescope(s, ofNouns.putApplicationSet),
    putArgoProjectMapping: thenRescope(s, ofNouns.putArgoProjectMapping),
    patchArgoProjectMapping: thenRescope(s, ofNouns.patchArgoProjectMapping),
    deleteArgoProjectMapping: thenRescope(s, ofNouns.deleteArgoProjectMapping),
    countObjects: count(s),
    getScopeMetrics: getScopeMetrics(s),
    watch: watch(s),
    watchAll: watchAll(s),

    syncApplication: syncApplication(s),
    refreshApplication: refreshApplication(s),
    getApplicationDiff: getApplicationDiff(s),
    getApplicationManifests: getApplicationManifests(s),
    getApplicationHistory: getApplicationHistory(s),
    rollbackApplication: rollbackApplication(s),
    terminateApplication: terminateApplication(s),
    getApplicationTree: getApplicationTree(s),
    getApplicationResource: getApplicationResource(s),
    runApplicationAction: runApplicationAction(s),
    getApplicationRevision: getApplicationRevision(s),
    getApplicationEvents: getApplicationEvents(s),
    getApplicationLogs: getApplicationLogs(s),
    generateApplicationSet: generateApplicationSet(s),
    listDeployments: listDeployments(s),
    getDeployment: getDeployment(s),
    rollbackDeployment: rollbackDeployment(s),
    getServiceMatrix: getServiceMatrix(s),
    getRepositoryCharts: getRepositoryCharts(s),
    getRepositoryRefs: getRepositoryRefs(s),
    testRepository: testRepository(s),
    testCluster: testCluster(s),

    createAgentToken: createAgentToken(s),
    listAgentTokens: listAgentTokens(s),
    revokeAgentToken: revokeAgentToken(s),
    renderAgentManifest: renderAgentManifest(s),
    renderAgentValues: renderAgentValues(s),
    createDelegateToken: createDelegateToken(s),
    listDelegateTokens: listDelegateTokens(s),
    revokeDelegateToken: revokeDelegateToken(s),
    rotateDelegateToken: rotateDelegateToken(s),
    renderDelegateManifest: renderDelegateManifest(s),

    createTask: createTask(s),
    listTasks: listTasks(s),
    getTask: getTask(s),
    cancelTask: cancelTask(s),
    getTaskLogs: getTaskLogs(s),
    getTaskArtifact: getTaskArtifact(s),
    watchTasks: watchTasks(s),
    retryTask: retryTask(s),

    runPipeline: runPipeline(s),
    listRuns: listRuns(s),
    getRun: getRun(s),
    cancelRun: cancelRun(s),
    approveStep: approveStep(s),
    rejectStep: rejectStep(s),

    getWebhookSecret: getWebhookSecret(s),
    rotateWebhookSecret: withAddress(s, rotateWebhookSecret(s)),
    receiveWebhook: receiveWebhook(s),

    rotateServiceKey: rotateServiceKey(s),
    createApiKey: createApiKey(s),
    listApiKeys: listApiKeys(s),
    deleteApiKey: deleteApiKey(s),
    whoAmI: whoAmI(),
    listAudit: listAudit(s),
    exportAudit: exportAudit(s),
    getHealth: getHealth(),
    getReadiness: getReadiness(s),
    getMetrics: getMetrics(s),

    workerHello: workerHello(s),
    enrolWorker: enrolWorker(s),
    openSession: openSession(s),
    exchange: exchange(s),
    heartbeat: heartbeat(s),
    appendTaskLogs: appendTaskLogs(s),
    completeTask: completeTask(s),
    putTaskArtifact: putTaskArtifact(s),
  };
}

type NounHandlers = Pick<Handlers, NounOperation>;

/** The five operations of every noun of the contract. A test compares them with the contract's operations. */
function nounHandlers(s: Services): NounHandlers {
  const handlers: Record<string, unknown> = {};
  for (const [key, { name, plural, delivered }] of Object.entries<NounRow>(nouns)) {
    const collection = key as Collection;
    handlers[`list${plural}`] = list(s, collection);
    handlers[`get${name}`] = getObject(s, collection);
    handlers[`put${name}`] = put(s, collection);
    handlers[`patch${name}`] = patch(s, collection);
    handlers[`delete${name}`] = delivered === undefined ? remove(s, collection) : removeDelivered(s, collection);
  }
  return handlers as NounHandlers;
}
