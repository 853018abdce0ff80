import { OperatorError } from "../../platform/errors/operator-error.ts";

/** An erasure cannot be done as it was asked for; the message says why. */
export class ErasureError extends OperatorError {}
