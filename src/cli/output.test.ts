import assert from "node:assert/strict";
import { test } from "node:test";
import { Output, table } from "./output.ts";

test("a table may have any number of rows", () => {
  const rows = Array.from({ length: 200_000 }, (_, at) => [String(at), "x"]);
  const lines = table(["ROW", "CELL"], rows);
  assert.equal(lines.length, 200_001);
  assert.deepEqual([lines[0], lines[1], lines.at(-1)], ["ROW     CELL", "0       x", "199999  x"]);
});

test("nothing that a partner sent reaches the terminal as a control sequence, also in JSON and in messages", () => {
  const lines: string[] = [];
  const out = (line: string) => void lines.push(line);
  const sent = { name: "Inn\u009b2J\u001b[31m\u202e" };
  new Output({ out, err: out }, true, () => undefined).result(sent, "");
  assert.deepEqual(JSON.parse(lines[0] ?? ""), sent);
  new Output({ out, err: out }, false, () => undefined).failure(`${sent.name} is unknown.\nTry again.`);
  assert.equal(lines[1], "bellhop: Inn\\u009b2J\\u001b[31m\\u202e is unknown.\nTry again.");
  for (const line of lines) assert.doesNotMatch(line.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u);
});
