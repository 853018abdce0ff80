import { OperatorError } from "../../platform/errors/operator-error.ts";

/** A backup, restore or move cannot be done as it was asked for; the message says why and what to do, in one line. */
export class BackupError extends OperatorError {}
