/** An erasure cannot be done as it was asked for; the message says why. */
export class ErasureError extends Error {}
