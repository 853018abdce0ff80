/**
 * How long an applier waits for the answer to statements that have little to do. One that is not answered by then was
 * asked on a connection that leads nowhere, and the applier opens another; without this it waited 65 s, and as long again for the
 * rollback.
 */
export const SHORT = { query_timeout: 10_000 } as const;

/** The same for what may have 8 MiB to bring. */
export const READING = { query_timeout: 30_000 } as const;
