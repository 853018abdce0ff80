import { OperatorError } from "../../errors/operator-error.ts";

/** A deletion cannot be done as it was asked for; the message says why. */
export class DeletionError extends OperatorError {}
