import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { expandViolations } from "./expand-rules.ts";
import { statementsOf } from "./sql-statements.ts";

describe("the statements of a migration", () => {
  test("end at semicolons outside strings, bodies, names and comments", () => {
    const sql = `-- one; two
      insert into a values ('it''s; "x"', $b$ ; $b$);
      /* three; */ CREATE TABLE "a;b" (n int) -- four;
      ;`;
    assert.deepEqual(
      statementsOf(sql).map(({ text }) => text),
      ["insert into a values ('…', $$…$$)", 'create table "a;b" (n int)'],
    );
    assert.deepEqual(statementsOf(sql)[1]?.comments, ["three;", "four;"]);
  });
});

describe("an expand migration", () => {
  for (const [what, sql] of [
    [
      "a table with its index and first rows",
      "create table bellhop.a (n int not null); create index a_n on bellhop.a (n); insert into bellhop.a values (1);",
    ],
    [
      "the same by its search path",
      "set local search_path = bellhop; create table a (n int); alter table bellhop.a add check (n > 0);",
    ],
    [
      "a column that may be null",
      "alter table bellhop.property add column b text, add column c numeric(10, 2);",
    ],
    [
      "a column with a constant default",
      "alter table bellhop.log_writer add column b boolean not null default false, add column c text default 'x';",
    ],
    [
      "an index that is built beside those who write",
      "-- concurrently\ncreate index concurrently a on bellhop.property (n);",
    ],
    [
      "a view or function anew",
      "create or replace view analytics.a as select 1; create or replace function bellhop.f() returns int language sql as $$ drop table x; $$;",
    ],
    [
      "a setting of storage",
      "alter table bellhop.property set (fillfactor = 90), alter column code set storage external;",
    ],
    [
      "a partition that is attached",
      "create table bellhop.a (like bellhop.accept_log); alter table bellhop.accept_log attach partition bellhop.a for values from ('0') to ('1');",
    ],
    ["a foreign key of a new table", "create table bellhop.a (client_id text references bellhop.client);"],
    [
      "what is allowed for a reason",
      "-- allowed: the table has one row, which no version reads in between\nupdate bellhop.instance set value = '';",
    ],
  ] as const) {
    test(`may bring ${what}`, () => assert.deepEqual(expandViolations(sql), []));
  }
  for (const [what, sql, flaw] of [
    ["takes a column away", "alter table bellhop.property drop column code;", /contract migration/],
    ["takes a table away", "drop table bellhop.property;", /contract migration/],
    ["renames", "alter table bellhop.property rename column code to name;", /contract migration/],
    ["changes a type", "alter table bellhop.property alter column code type varchar(10);", /changes a type/],
    ["demands a value", "alter table bellhop.property add column a text not null;", /demanded/],
    [
      "demands a value of a column that is there",
      "alter table bellhop.property alter column a set not null;",
      /contract/,
    ],
    [
      "computes a default for each row",
      "alter table bellhop.property add column a timestamptz not null default clock_timestamp();",
      /no constant/,
    ],
    [
      "generates a column",
      "alter table bellhop.property add column a bigint generated always as identity;",
      /every row/,
    ],
    ["indexes a table that is there", "create index a on bellhop.property (code);", /concurrently/],
    [
      "binds rows that are written by others",
      "alter table bellhop.property add constraint a check (code <> '') not valid;",
      /binds rows/,
    ],
    ["makes a column unique", "alter table bellhop.property add column a text unique;", /index under a lock/],
    ["writes rows that are there", "update bellhop.property set code = code;", /bit by bit/],
    [
      "makes a partition in its place",
      "create table bellhop.a partition of bellhop.accept_log default;",
      /then attach/,
    ],
    ["hides what it does", "do $$ begin execute 'drop table a'; end $$;", /cannot be read/],
    ["is allowed without a reason", "-- allowed: yes\ndrop table bellhop.property;", /contract/],
    [
      "is allowed for the statement before",
      "-- allowed: nobody has ever used this one\ndrop view a; drop table bellhop.b;",
      /^drop table bellhop.b/,
    ],
    ["is nothing that is known", "lock table bellhop.property;", /no statement that a rule knows/],
  ] as const) {
    test(`that ${what} is reported`, () => {
      const violations = expandViolations(sql);
      assert.equal(violations.length, 1, violations.join("\n"));
      assert.match(violations[0] ?? "", flaw);
    });
  }
});
