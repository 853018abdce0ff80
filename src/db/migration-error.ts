import { OperatorError } from "../errors/operator-error.ts";

/** The database and this version of the code do not belong together; the message says how, in one line. */
export class MigrationError extends OperatorError {}
