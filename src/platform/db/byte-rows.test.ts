import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { ByteRows } from "./byte-rows.ts";

function message(code: string, content: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.write(code, "latin1");
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

function rowMessage(values: readonly (Uint8Array | null)[]): Buffer {
  const count = Buffer.alloc(2);
  count.writeInt16BE(values.length);
  const fields = values.flatMap((value) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(value?.length ?? -1);
    return value === null ? [length] : [length, value];
  });
  return message("D", Buffer.concat([count, ...fields]));
}

const values = fc.array(fc.option(fc.uint8Array({ maxLength: 40 })), { maxLength: 3 });
const ofRow = fc.record({ row: values });
const ofOther = fc.record({
  code: fc.constantFrom("1", "2", "T", "N", "C"),
  content: fc.uint8Array({ maxLength: 20 }),
});

test("rows are taken and all other messages passed on until the statement ends, however they are received", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(ofRow, ofOther)),
      fc.array(ofOther, { maxLength: 2 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 100 })),
      (during, afterwards, lengths) => {
        const stream = new PassThrough();
        const passed: Buffer[] = [];
        // A chunk's memory is reused, so what pg keeps must not be a view of it.
        const pass = (chunk: Buffer) => passed.push(Buffer.from(chunk));
        stream.on("data", pass);
        const others = (each: (typeof during)[number]) =>
          "row" in each ? [] : [message(each.code, each.content)];
        const ready = message("Z", Buffer.from("I"));
        const next = rowMessage([Buffer.from("of the next statement")]);
        const sent = Buffer.concat([
          ...during.map((each) => ("row" in each ? rowMessage(each.row) : message(each.code, each.content))),
          ready,
          ...afterwards.flatMap(others),
          next,
        ]);
        const read = new ByteRows();
        read.takeFrom(stream);
        for (let at = 0; at < sent.length; ) {
          const { value: length } = lengths.next();
          // Memory of its own, which is freed.
          stream.emit("data", Buffer.from(new Uint8Array(sent.subarray(at, at + length)).buffer));
          at += length;
        }
        const rows = during.flatMap((each) => ("row" in each ? [each.row] : []));
        assert.deepEqual(
          read.rows,
          rows.map((row) => row.map((value) => value && Buffer.from(value))),
        );
        assert.deepEqual(
          Buffer.concat(passed),
          Buffer.concat([...during.flatMap(others), ready, ...afterwards.flatMap(others), next]),
        );
        assert.deepEqual(stream.listeners("data"), [pass]);
        read.free();
      },
    ),
  );
});
