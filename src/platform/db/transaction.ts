import type pg from "pg";

/** What a statement runs on. */
export type Queryable = Pick<pg.ClientBase, "query">;

export interface TransactionOptions {
  readonly isolation?: "read committed" | "repeatable read" | "serializable";
  readonly readOnly?: boolean;
}

/**
 * Runs `work` in one transaction: committed when it returns, rolled back when it throws. From a pool it takes a
 * connection of its own; on a client that the caller holds it uses that one (never nested: PostgreSQL would warn and
 * commit early). Throws what `work` threw, or what the commit threw: then the outcome is unknown to the caller.
 */
export async function withTransaction<Result>(
  source: pg.Pool | pg.ClientBase,
  work: (client: pg.ClientBase) => Promise<Result>,
  options: TransactionOptions = {},
): Promise<Result> {
  if (!("totalCount" in source)) return await runTransaction(source, work, options);
  const client = await source.connect();
  let broken = true;
  try {
    return await runTransaction(client, work, options, () => {
      broken = false;
    });
  } finally {
    // A connection that could not even roll back is not given to anybody else.
    client.release(broken);
  }
}

async function runTransaction<Result>(
  client: pg.ClientBase,
  work: (client: pg.ClientBase) => Promise<Result>,
  options: TransactionOptions,
  onEnded?: () => void,
): Promise<Result> {
  await client.query(
    `begin isolation level ${options.isolation ?? "read committed"}${options.readOnly ? " read only" : ""}`,
  );
  try {
    const result = await work(client);
    const { command } = await client.query("commit");
    // A transaction that failed earlier answers COMMIT with ROLLBACK and no error; silence here would be a lost write.
    if (command !== "COMMIT") throw new Error("The transaction had failed and was rolled back at commit.");
    onEnded?.();
    return result;
  } catch (error) {
    await client.query("rollback").then(onEnded, () => undefined);
    throw error;
  }
}
