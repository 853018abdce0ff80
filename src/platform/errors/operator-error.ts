/** An error for the person at the command line: shown without a stack trace, exit code 1. */
export class OperatorError extends Error {}

/** The input is invalid; the message says why and what is valid. */
export class InputError extends OperatorError {}

/** Invalid command line: exit code 2. */
export class UsageError extends InputError {}

/** The named object does not exist or belongs to another client. */
export class NotFoundError extends OperatorError {}

/** The current state does not allow the operation. */
export class ConflictError extends OperatorError {}
