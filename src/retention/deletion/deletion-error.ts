/** A deletion cannot be done as it was asked for; the message says why. */
export class DeletionError extends Error {}
