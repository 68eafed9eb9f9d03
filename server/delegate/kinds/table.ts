import type { Schemas } from "../../../openapi/client.ts";
import type { Kind } from "../kind.ts";
import { artifactUpload } from "./artifact/artifact-upload.ts";
import { ecsDeploy } from "./aws/ecs-deploy.ts";
import { gitClone } from "./git/git-clone.ts";
import { gitopsFetchLinkedApps } from "./gitops/gitops-fetch-linked-apps.ts";
import { gitopsMergePR } from "./gitops/gitops-merge-pr.ts";
import { gitopsRevertPR } from "./gitops/gitops-revert-pr.ts";
import { gitopsSyncApps } from "./gitops/gitops-sync-apps.ts";
import { gitopsUpdateReleaseRepo } from "./gitops/gitops-update-release-repo.ts";
import { helmPackage } from "./helm/helm-package.ts";
import { helmPush } from "./helm/helm-push.ts";
import { helmUninstall } from "./helm/helm-uninstall.ts";
import { helmUpgrade } from "./helm/helm-upgrade.ts";
import { ecrLogin } from "./image/ecr-login.ts";
import { imageBuild } from "./image/image-build.ts";
import { imagePush } from "./image/image-push.ts";
import { registryLogin } from "./image/registry-login.ts";
import { kubernetesApply } from "./kubernetes/kubernetes-apply.ts";
import { kubernetesDelete } from "./kubernetes/kubernetes-delete.ts";
import { kubernetesRollout } from "./kubernetes/kubernetes-rollout.ts";
import { httpRequest } from "./script/http-request.ts";
import { powershellRun } from "./script/powershell-run.ts";
import { shellRun } from "./script/shell-run.ts";
import { terraformApply } from "./terraform/terraform-apply.ts";
import { terraformDestroy } from "./terraform/terraform-destroy.ts";
import { terraformPlan } from "./terraform/terraform-plan.ts";
import { verifyPrometheus } from "./verify/verify-prometheus.ts";

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
