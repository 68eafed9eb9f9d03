import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";
import { AppProject, type AppProjectConfig } from "../bindings/app-project.ts";
import type { IAgent } from "./agent.ts";

/** A project of an agent that applications belong to. */
export interface IAppProject {
  readonly appProjectId: string;
  /** Name in the agent's namespace, as the template of an application set writes it. */
  readonly argoName: string;
  readonly ready: ITerraformDependable[];
}

/** Beside these every argument of `outpost_app_project`: `sourceRepos`, `destinations`, `syncWindows`, `sourceIntegrity`, … */
export interface OutpostAppProjectProps extends Omit<AppProjectConfig, "id" | "agent"> {
  /** Id of the project; immutable. */
  readonly appProjectId: string;
  /** Agent that enforces it. */
  readonly agent: IAgent;
}

/** What applications may do: read from where, write to where, sync when. What is not named is not permitted. */
export class OutpostAppProject extends Construct implements IAppProject {
  /** A project that was made elsewhere. */
  static fromAppProjectId(appProjectId: string, argoName = appProjectId): IAppProject {
    return { appProjectId, argoName, ready: [] };
  }

  readonly appProject: AppProject;

  constructor(scope: Construct, id: string, props: OutpostAppProjectProps) {
    super(scope, id);
    const { appProjectId, agent, ...rest } = props;
    this.appProject = new AppProject(this, "app-project", {
      ...rest,
      id: appProjectId,
      agent: agent.agentId,
      dependsOn: [...agent.ready, ...(props.dependsOn ?? [])],
    });
  }

  get appProjectId(): string {
    return this.appProject.id;
  }

  get argoName(): string {
    return this.appProject.status.name;
  }

  get ready(): ITerraformDependable[] {
    return [this.appProject];
  }
}
