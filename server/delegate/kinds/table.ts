import type { Schemas } from "../../../openapi/client.ts";
import { artifactUpload } from "./artifact-upload.ts";
import { ecrLogin } from "./ecr-login.ts";
import { ecsDeploy } from "./ecs-deploy.ts";
import { gitClone } from "./git-clone.ts";
import { gitopsFetchLinkedApps } from "./gitops-fetch-linked-apps.ts";
import { gitopsMergePR } from "./gitops-merge-pr.ts";
import { gitopsRevertPR } from "./gitops-revert-pr.ts";
import { gitopsSyncApps } from "./gitops-sync-apps.ts";
import { gitopsUpdateReleaseRepo } from "./gitops-update-release-repo.ts";
import { helmPackage } from "./helm-package.ts";
import { helmPush } from "./helm-push.ts";
import { helmUninstall } from "./helm-uninstall.ts";
import { helmUpgrade } from "./helm-upgrade.ts";
import { httpRequest } from "./http-request.ts";
import { imageBuild } from "./image-build.ts";
import { imagePush } from "./image-push.ts";
import type { Kind } from "./kind.ts";
import { kubernetesApply } from "./kubernetes-apply.ts";
import { kubernetesDelete } from "./kubernetes-delete.ts";
import { kubernetesRollout } from "./kubernetes-rollout.ts";
import { powershellRun } from "./powershell-run.ts";
import { registryLogin } from "./registry-login.ts";
import { shellRun } from "./shell-run.ts";
import { terraformApply } from "./terraform-apply.ts";
import { terraformDestroy } from "./terraform-destroy.ts";
import { terraformPlan } from "./terraform-plan.ts";
import { verifyPrometheus } from "./verify-prometheus.ts";

/** Every kind of the contract, and no other. */
export const KINDS: Record<Schemas["TaskKind"], Kind> = {
  "artifact.upload": artifactUpload,
  "ecr.login": ecrLogin,
  "ecs.deploy": ecsDeploy,
  "git.clone": gitClone,
  "gitops.fetchLinkedApps": gitopsFetchLinkedApps,
  "gitops.mergePR": gitopsMergePR,
  "gitops.revertPR": gitopsRevertPR,
  "gitops.syncApps": gitopsSyncApps,
  "gitops.updateReleaseRepo": gitopsUpdateReleaseRepo,
  "helm.package": helmPackage,
  "helm.push": helmPush,
  "helm.uninstall": helmUninstall,
  "helm.upgrade": helmUpgrade,
  "http.request": httpRequest,
  "image.build": imageBuild,
  "image.push": imagePush,
  "kubernetes.apply": kubernetesApply,
  "kubernetes.delete": kubernetesDelete,
  "kubernetes.rollout": kubernetesRollout,
  "powershell.run": powershellRun,
  "registry.login": registryLogin,
  "shell.run": shellRun,
  "terraform.apply": terraformApply,
  "terraform.destroy": terraformDestroy,
  "terraform.plan": terraformPlan,
  "verify.prometheus": verifyPrometheus,
};

/** The kind of that name, or undefined; never a member of Object's. */
export const tryKind = (name: string): Kind | undefined => (Object.hasOwn(KINDS, name) ? KINDS[name as Schemas["TaskKind"]] : undefined);

/** What this installation can run, and why it cannot run the rest. */
export async function capabilities(env: NodeJS.ProcessEnv): Promise<{ able: string[]; lacking: { kind: string; why: string }[] }> {
  const checked = await Promise.all(Object.entries(KINDS).map(async ([kind, { lacks }]) => ({ kind, why: await lacks(env) })));
  return {
    able: checked.filter(({ why }) => why === undefined).map(({ kind }) => kind),
    lacking: checked.flatMap(({ kind, why }) => (why === undefined ? [] : [{ kind, why }])),
  };
}
