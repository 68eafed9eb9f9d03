import { Construct } from "constructs";
import { Service, type ServiceConfig } from "../bindings/service.ts";

/** A service that applications deploy. */
export interface IService {
  readonly serviceId: string;
}

/** Beside these every argument of `outpost_service`: `name`, `type`, `owner`, … */
export interface OutpostServiceProps extends Omit<ServiceConfig, "id"> {
  /** Id of the service; immutable. */
  readonly serviceId: string;
}

/** One piece of software that applications deploy: a row of the matrix of what runs where. */
export class OutpostService extends Construct implements IService {
  /** A service that was made elsewhere, as references write it: `checkout`, `org.checkout`. */
  static fromServiceId(serviceId: string): IService {
    return { serviceId };
  }

  readonly service: Service;

  constructor(scope: Construct, id: string, props: OutpostServiceProps) {
    super(scope, id);
    const { serviceId, ...rest } = props;
    this.service = new Service(this, "service", { ...rest, id: serviceId });
  }

  get serviceId(): string {
    return this.service.id;
  }
}
