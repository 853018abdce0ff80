import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sumEntries } from "../../src/insight/statements.ts";
import { withTransaction } from "../../src/platform/db/transaction.ts";
import { createTestDatabase } from "../support/database.ts";

const database = await createTestDatabase();
after(() => database.drop());

test("sums of entries are planned without nested loops, whatever statistics there are; other statements as ever", async () => {
  const statement = {
    name: "read-nested-loops",
    text: "select $1 || current_setting('enable_nestloop') as loops",
  };
  const [first, other, again] = await withTransaction(database.pool, async (client) => [
    await sumEntries<{ loops: string }>(client, statement, ["they are "]),
    (await client.query<{ loops: string }>({ ...statement, values: ["they are "] })).rows,
    await sumEntries<{ loops: string }>(client, statement, ["still "]),
  ]);
  assert.deepEqual(
    [first, other, again],
    [[{ loops: "they are off" }], [{ loops: "they are on" }], [{ loops: "still off" }]],
  );
});
