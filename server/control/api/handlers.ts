import { renderAgentManifest, renderAgentValues, renderDelegateManifest } from "./agents/install.ts";
import {
  createAgentToken,
  createDelegateToken,
  listAgentTokens,
  listDelegateTokens,
  revokeAgentToken,
  revokeDelegateToken,
} from "./agents/tokens.ts";
import { createApiKey, deleteApiKey, listApiKeys } from "./apikeys.ts";
import { refreshApplication, syncApplication } from "./applications/actions.ts";
import { getApplicationDiff, getApplicationHistory, getApplicationManifests } from "./applications/read.ts";
import { getRepositoryRefs, testCluster, testRepository } from "./connections.ts";
import { remove, removeDelivered } from "./nouns/delete.ts";
import { getObject } from "./nouns/get.ts";
import { list } from "./nouns/list.ts";
import { patch } from "./nouns/patch.ts";
import { put } from "./nouns/put.ts";
import type { Services } from "./services.ts";
import { getHealth, getMetrics, getReadiness, listAudit, whoAmI } from "./small.ts";
import { cancelTask } from "./tasks/cancel.ts";
import { createTask } from "./tasks/create.ts";
import { getTask, getTaskLogs, listTasks } from "./tasks/read.ts";
import type { Handlers } from "./typed.ts";
import { watch } from "./watch.ts";
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
    watch: (call) => watch(s, call),

    syncApplication: syncApplication(s),
    refreshApplication: refreshApplication(s),
    getApplicationDiff: getApplicationDiff(s),
    getApplicationManifests: getApplicationManifests(s),
    getApplicationHistory: getApplicationHistory(s),
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
    renderDelegateManifest: renderDelegateManifest(s),

    createTask: createTask(s),
    listTasks: listTasks(s),
    getTask: getTask(s),
    cancelTask: cancelTask(s),
    getTaskLogs: getTaskLogs(s),

    createApiKey: createApiKey(s),
    listApiKeys: listApiKeys(s),
    deleteApiKey: deleteApiKey(s),
    whoAmI: whoAmI(),
    listAudit: listAudit(s),
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
  };
}
