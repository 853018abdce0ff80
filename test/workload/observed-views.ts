import type pg from "pg";

/** A row of every analysts' view counted and hashed, by the view's name: equal texts are an equal view. */
export type ViewDigests = ReadonlyMap<string, string>;

/** Columns of the views that tell when or where a record was received: those may differ between orders. */
const OF_RECEIPT = /^(received_at|request_id|record_index|property_id|bucket|change_no|stored_.*)$/;

/** The rows of each view of the schema `analytics` as one expression; views that only rename tables are left out. */
async function viewRows(pool: pg.Pool): Promise<ReadonlyMap<string, string>> {
  const { rows } = await pool.query<{ view: string; columns: string[] }>(
    `select c.table_name as view, array_agg(c.column_name::text order by c.ordinal_position) as columns
    from information_schema.columns c
    where c.table_schema = 'analytics' and c.table_name not like 'stored\\_%' group by c.table_name order by c.table_name`,
  );
  return new Map(
    rows.map(({ view, columns }) => {
      const kept = columns.filter((name) => !OF_RECEIPT.test(name)).map((name) => `"${name}"`);
      return [view, `row(${kept.join(", ")})::text`];
    }),
  );
}

/** Digests every view: the count of rows and two sums of 64-bit hashes, which do not depend on the order of rows. */
export async function digestViews(pool: pg.Pool): Promise<ViewDigests> {
  // Freshly filled tables have no statistics, and the views' joins would be nested loops.
  await pool.query("analyze");
  const digests = new Map<string, string>();
  for (const [view, row] of await viewRows(pool)) {
    const { rows } = await pool.query<{ digest: string }>(
      `select concat_ws(' ', count(*), 'rows', sum(hashtextextended(row, 1)), sum(hashtextextended(row, 2))) as digest
      from (select ${row} as row from analytics."${view}") rows`,
    );
    digests.set(view, rows[0]?.digest ?? "");
  }
  return digests;
}

/** What one view shows in one database and not in the other, as sorted row texts: missing here, and too many here. */
export async function differingRows(
  reference: pg.Pool,
  here: pg.Pool,
  view: string,
): Promise<{ readonly missing: readonly string[]; readonly surplus: readonly string[] }> {
  const row = (await viewRows(reference)).get(view);
  const read = async (pool: pg.Pool): Promise<string[]> =>
    (await pool.query<{ row: string }>(`select ${row} as row from analytics."${view}" order by 1`)).rows.map(
      (found) => found.row,
    );
  const [wanted, found] = [await read(reference), await read(here)];
  return { missing: without(wanted, found), surplus: without(found, wanted) };
}

/** The texts of `all` that are not in `taken`, each as many times as it is more often there. */
export function without(all: readonly string[], taken: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const text of taken) left.set(text, (left.get(text) ?? 0) + 1);
  return all.filter((text) => {
    const count = left.get(text) ?? 0;
    left.set(text, count - 1);
    return count <= 0;
  });
}
