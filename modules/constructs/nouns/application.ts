import { Construct } from "constructs";
import {
  Application,
  type ApplicationConfig,
  type ApplicationSource,
  type ApplicationSyncPolicy,
} from "../bindings/application.ts";
import type { IAgent } from "./agent.ts";
import type { IAppProject } from "./app-project.ts";
import type { ICluster } from "./cluster.ts";
import type { IEnvironment } from "./environment.ts";
import type { IRepository } from "./repository.ts";
import type { IService } from "./service.ts";

export interface OutpostApplicationProps {
  /** Id of the application; immutable. */
  readonly applicationId: string;
  readonly org?: string;
  readonly project?: string;
  /** Agent that keeps it equal to Git. */
  readonly agent: IAgent;
  readonly repository: IRepository;
  /**
   * Folder in the repository.
   * @default .
   */
  readonly path?: string;
  /** Branch, tag or commit; default: the repository's default branch. */
  readonly targetRevision?: string;
  /** More of the source: `helm`, `kustomize`, `directory`, `plugin`, `chart`. */
  readonly source?: ApplicationSource;
  /** The project that it belongs to, which says what it may do; default: the agent's `default`. */
  readonly appProject?: IAppProject;
  /**
   * Account, `name` or `namespace:name`, under which charts may use `lookup` and see what the cluster can do. It should only read.
   * @default charts see nothing of the cluster
   */
  readonly helmLookup?: string;
  /** Applications of the same scope and agent that must be Synced and Healthy before this one is synced automatically. */
  readonly waitsFor?: OutpostApplication[];
  /** A registered cluster; default: the agent's own. */
  readonly cluster?: ICluster;
  /** Service that it deploys. */
  readonly service?: IService;
  /** Environment that it deploys into. */
  readonly environment?: IEnvironment;
  /** Namespace for objects that name none. */
  readonly namespace: string;
  /**
   * Sync without being asked, prune what Git no longer has, undo changes made in the cluster.
   * @default true
   */
  readonly automated?: boolean;
  /** Sync options, as `CreateNamespace=true`. */
  readonly syncOptions?: string[];
  /** Beats `automated` and `syncOptions`. */
  readonly syncPolicy?: ApplicationSyncPolicy;
  /** Anything else of the resource. */
  readonly more?: Partial<ApplicationConfig>;
}

/** An application that an agent keeps equal to Git. Its creation ends when it is Synced and Healthy. */
export class OutpostApplication extends Construct {
  readonly application: Application;

  constructor(scope: Construct, id: string, props: OutpostApplicationProps) {
    super(scope, id);
    const { agent, repository, cluster, appProject, waitsFor } = props;
    const automated = props.automated === false ? undefined : { prune: true, selfHeal: true };
    this.application = new Application(this, "application", {
      id: props.applicationId,
      org: props.org,
      project: props.project,
      agent: agent.agentId,
      source: {
        repository: repository.repositoryId,
        path: props.path ?? ".",
        targetRevision: props.targetRevision,
        ...props.source,
      },
      destination: { cluster: cluster?.clusterId, namespace: props.namespace },
      syncPolicy: props.syncPolicy ?? { automated, syncOptions: props.syncOptions },
      appProject: appProject?.appProjectId,
      ...(props.helmLookup !== undefined && { helmLookup: { serviceAccount: props.helmLookup } }),
      service: props.service?.serviceId,
      environment: props.environment?.environmentId,
      waitsFor: waitsFor?.map(({ application }) => application.id),
      ...props.more,
      // Destroyed before what it needs: the agent must be there to remove its objects.
      dependsOn: [
        ...agent.ready,
        ...repository.ready,
        ...(cluster?.ready ?? []),
        ...(appProject?.ready ?? []),
        ...(props.more?.dependsOn ?? []),
      ],
    });
  }
}
