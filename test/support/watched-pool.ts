import type pg from "pg";

/** A pool whose statements `asked` hears of before they are sent; one that answers a promise holds them up. */
export function watchedPool(
  pool: pg.Pool,
  asked: (statement: pg.QueryConfig) => Promise<void> | void,
): pg.Pool {
  return new Proxy(pool, {
    get(target, name) {
      if (name !== "query") return Reflect.get(target, name);
      return async (statement: string | pg.QueryConfig, values?: unknown[]) => {
        if (typeof statement !== "string") await asked(statement);
        return target.query(statement, values);
      };
    },
  });
}
