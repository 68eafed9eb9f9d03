import { getHealth, getMetrics, getReadiness, whoAmI } from "./account.ts";
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
import { createApiKey, deleteApiKey, listApiKeys } from "./apikeys.ts";
import { refreshApplication, rollbackApplication, syncApplication, terminateApplication } from "./applications/actions.ts";
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
import { thenRescope } from "./discovered/mappings.ts";
import { remove, removeDelivered } from "./nouns/delete.ts";
import { getObject } from "./nouns/get.ts";
import { list } from "./nouns/list.ts";
import { patch } from "./nouns/patch.ts";
import { put } from "./nouns/put.ts";
import { approveStep, rejectStep } from "./pipelines/approve.ts";
import { getRun, listRuns } from "./pipelines/read.ts";
import { cancelRun, runPipeline } from "./pipelines/run.ts";
import { rotateServiceKey } from "./servicekey.ts";
import type { Services } from "./services.ts";
import { getTaskArtifact } from "./tasks/artifact.ts";
import { cancelTask } from "./tasks/cancel.ts";
import { createTask } from "./tasks/create.ts";
import { getTask, getTaskLogs, listTasks } from "./tasks/read.ts";
import { retryTask } from "./tasks/retry.ts";
import { watchTasks } from "./tasks/watch.ts";
import type { Handlers } from "./typed.ts";
import { watch } from "./watch.ts";
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
  return {
    listOrganizations: list(s, "organizations"),
    getOrganization: getObject(s, "organizations"),
    putOrganization: put(s, "organizations"),
    patchOrganization: patch(s, "organizations"),
    deleteOrganization: remove(s, "organizations"),
    listProjects: list(s, "projects"),
    getProject: getObject(s, "projects"),
    putProject: put(s, "projects"),
    patchProject: patch(s, "projects"),
    deleteProject: remove(s, "projects"),
    listAgents: list(s, "agents"),
    getAgent: getObject(s, "agents"),
    putAgent: put(s, "agents"),
    patchAgent: patch(s, "agents"),
    deleteAgent: remove(s, "agents"),
    listDelegates: list(s, "delegates"),
    getDelegate: getObject(s, "delegates"),
    putDelegate: put(s, "delegates"),
    patchDelegate: patch(s, "delegates"),
    deleteDelegate: remove(s, "delegates"),
    listRepositories: list(s, "repositories"),
    getRepository: getObject(s, "repositories"),
    putRepository: put(s, "repositories"),
    patchRepository: patch(s, "repositories"),
    deleteRepository: removeDelivered(s, "repositories"),
    listClusters: list(s, "clusters"),
    getCluster: getObject(s, "clusters"),
    putCluster: put(s, "clusters"),
    patchCluster: patch(s, "clusters"),
    deleteCluster: removeDelivered(s, "clusters"),
    listApplications: list(s, "applications"),
    getApplication: getObject(s, "applications"),
    putApplication: put(s, "applications"),
    patchApplication: patch(s, "applications"),
    deleteApplication: removeDelivered(s, "applications"),
    listApplicationSets: list(s, "applicationsets"),
    getApplicationSet: getObject(s, "applicationsets"),
    putApplicationSet: put(s, "applicationsets"),
    patchApplicationSet: patch(s, "applicationsets"),
    deleteApplicationSet: removeDelivered(s, "applicationsets"),
    listAppProjects: list(s, "appprojects"),
    getAppProject: getObject(s, "appprojects"),
    putAppProject: put(s, "appprojects"),
    patchAppProject: patch(s, "appprojects"),
    deleteAppProject: removeDelivered(s, "appprojects"),
    listRepositoryCredentials: list(s, "repositorycredentials"),
    getRepositoryCredential: getObject(s, "repositorycredentials"),
    putRepositoryCredential: put(s, "repositorycredentials"),
    patchRepositoryCredential: patch(s, "repositorycredentials"),
    deleteRepositoryCredential: removeDelivered(s, "repositorycredentials"),
    listRepositoryCertificates: list(s, "repositorycertificates"),
    getRepositoryCertificate: getObject(s, "repositorycertificates"),
    putRepositoryCertificate: put(s, "repositorycertificates"),
    patchRepositoryCertificate: patch(s, "repositorycertificates"),
    deleteRepositoryCertificate: removeDelivered(s, "repositorycertificates"),
    listGnupgKeys: list(s, "gnupgkeys"),
    getGnupgKey: getObject(s, "gnupgkeys"),
    putGnupgKey: put(s, "gnupgkeys"),
    patchGnupgKey: patch(s, "gnupgkeys"),
    deleteGnupgKey: removeDelivered(s, "gnupgkeys"),
    listWebhooks: withAddress(s, list(s, "webhooks")),
    getWebhook: withAddress(s, getObject(s, "webhooks")),
    putWebhook: withAddress(s, put(s, "webhooks")),
    patchWebhook: withAddress(s, patch(s, "webhooks")),
    deleteWebhook: remove(s, "webhooks"),
    listPipelines: list(s, "pipelines"),
    getPipeline: getObject(s, "pipelines"),
    putPipeline: put(s, "pipelines"),
    patchPipeline: patch(s, "pipelines"),
    deletePipeline: remove(s, "pipelines"),
    listArgoProjectMappings: list(s, "argoprojectmappings"),
    getArgoProjectMapping: getObject(s, "argoprojectmappings"),
    putArgoProjectMapping: thenRescope(s, put(s, "argoprojectmappings")),
    patchArgoProjectMapping: thenRescope(s, patch(s, "argoprojectmappings")),
    deleteArgoProjectMapping: thenRescope(s, remove(s, "argoprojectmappings")),
    watch: (call) => watch(s, call),

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
