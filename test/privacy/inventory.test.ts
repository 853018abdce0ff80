import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { withPersonalFields } from "../../scripts/privacy-document.ts";
import { FREE_TEXT_ELSEWHERE, FREE_TEXT_OF_LOG } from "../../src/privacy/erasure/redact-elsewhere.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const text = await readFile(new URL("../../docs/privacy.md", import.meta.url), "utf8");

test("docs/privacy.md lists the personal fields of the schemas", () => {
  assert.equal(text, withPersonalFields(text), "not up to date: run npm run generate -- docs");
});

/** The rows of docs/privacy.md: each table with its columns, by the heading they stand under. */
function inventory(): Map<string, readonly (readonly string[])[]> {
  const [, checked = ""] = /<!-- checked: personal data -->(.*?)<!-- end -->/s.exec(text) ?? [];
  const rows = checked.split("\n").filter((line) => line.startsWith("| `"));
  return new Map(
    rows.map((line) => {
      const [table = [], ...cells] = line
        .split("|")
        .slice(1, -1)
        .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ""));
      return [table[0] ?? "", cells];
    }),
  );
}

test("docs/privacy.md describes every column with texts or bytes, and no other", async () => {
  const { rows } = await database.pool.query<{ name: string; columns: string[] }>(`
    select format('%s.%s', nspname, relname) as name, array_agg(attname::text order by attname) as columns
    from pg_class join pg_namespace as schema on schema.oid = relnamespace
    join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
    where nspname in ('bellhop', 'bellhop_state', 'bellhop_migration') and relkind in ('r', 'p') and not relispartition
      and atttypid in ('text'::regtype, 'text[]'::regtype, 'json'::regtype, 'jsonb'::regtype, 'bytea'::regtype)
    group by 1 order by 1`);
  const said = [...inventory()].map(([name, cells]) => ({ name, columns: cells.flat().toSorted() }));
  assert.deepEqual(
    said.toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    rows.map(({ name, columns }) => ({ name, columns: columns.toSorted() })),
  );
});

test("an erasure looks for words in every column that the inventory calls written freely", () => {
  const free = [...inventory()].flatMap(([table, [, , columns = []]]) =>
    columns.map((column) => `${table}.${column}`),
  );
  const swept = [...FREE_TEXT_OF_LOG, ...FREE_TEXT_ELSEWHERE].map(
    ({ table, column }) => `${table}.${column}`,
  );
  assert.deepEqual(swept.toSorted(), free.toSorted());
});
