// Types only, from modules without Node: the console compiles them for the browser.
import type { Resource } from "#contract/resource.ts";
import type { CertificationReport } from "../console/api-types.ts";
import type { PropertyCodes } from "../query/console/answers.ts";

/** A certification of a client's integration, with the property of its instructions. */
export interface CertificationItem extends PropertyCodes {
  readonly certificationId: string;
  readonly clientId: string;
  readonly clientName: string;
  /** The resources that the client may push; steps for others cannot pass. */
  readonly resources: readonly Resource[];
  /** The client's limits while it is open. */
  readonly requestRate: number;
  readonly requestBurst: number;
  readonly tokenSeconds: number;
  readonly openedAt: string;
  readonly openedBy: string;
  /** When it was ended or will end automatically. */
  readonly endsAt: string;
  readonly isOpen: boolean;
}

/** `docs`: the documentation page below `/docs/`. */
export type CertificationStep = CertificationReport["steps"][number] & { readonly docs: string };

/** A certification with its report on requests from `evidence.from` on. */
export interface CertificationAnswer
  extends CertificationItem,
    Pick<CertificationReport, "verdict" | "observed" | "evidence"> {
  readonly steps: readonly CertificationStep[];
}
