/** An error whose message was written for the person at the command line: shown without a stack, exit code 1. */
export class OperatorError extends Error {}

/** What was asked for cannot be; the message says why, and what can. */
export class InputError extends OperatorError {}

/** A command line that is wrong: exit code 2. */
export class UsageError extends InputError {}

/** What was named does not exist, or is another client's. */
export class NotFoundError extends OperatorError {}

/** What was asked for cannot be done as things stand. */
export class ConflictError extends OperatorError {}
