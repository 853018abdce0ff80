/** An error whose message was written for the person at the command line: shown without a stack, exit code 1. */
export class OperatorError extends Error {}

/** A command line that is wrong: exit code 2. */
export class UsageError extends OperatorError {}
