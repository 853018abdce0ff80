import assert from "node:assert/strict";

/** How a field of a message is read, and under which name it stands in the message's JSON. */
type Field = readonly [
  name: string,
  read: "text" | "hex" | "varint" | "fixed" | "double" | Message,
  many?: "many",
];
interface Message {
  readonly [number: number]: Field;
}

/** Of opentelemetry/proto (v1), what is sent here; any other field is a fault. */
const ANY_VALUE: Message = {
  1: ["stringValue", "text"],
  2: ["boolValue", "varint"],
  3: ["intValue", "varint"],
  4: ["doubleValue", "double"],
};
const KEY_VALUE: Message = { 1: ["key", "text"], 2: ["value", ANY_VALUE] };
const SPAN: Message = {
  1: ["traceId", "hex"],
  2: ["spanId", "hex"],
  4: ["parentSpanId", "hex"],
  5: ["name", "text"],
  6: ["kind", "varint"],
  7: ["startTimeUnixNano", "fixed"],
  8: ["endTimeUnixNano", "fixed"],
  9: ["attributes", KEY_VALUE, "many"],
  15: ["status", { 2: ["message", "text"], 3: ["code", "varint"] }],
  16: ["flags", "fixed"],
};
const SCOPE_SPANS: Message = {
  1: ["scope", { 1: ["name", "text"], 2: ["version", "text"] }],
  2: ["spans", SPAN, "many"],
};
const RESOURCE_SPANS: Message = {
  1: ["resource", { 1: ["attributes", KEY_VALUE, "many"] }],
  2: ["scopeSpans", SCOPE_SPANS, "many"],
};
const REQUEST: Message = { 1: ["resourceSpans", RESOURCE_SPANS, "many"] };

const WIRE_TYPES = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;

function varint(bytes: Buffer, from: number): [value: bigint, next: number] {
  let value = 0n;
  for (let at = from; at < from + 10; at += 1) {
    const byte = bytes[at];
    assert.ok(byte !== undefined, "ends within a number");
    value |= BigInt(byte & 0x7f) << BigInt(7 * (at - from));
    if (byte < 0x80) return [value, at + 1];
  }
  return assert.fail("a number of more than ten bytes");
}

function readValue(read: Field[1], content: Buffer): unknown {
  if (typeof read === "object") return messageOf(read, content);
  if (read === "double") return content.readDoubleLE();
  if (read === "fixed")
    return String(content.length === 4 ? content.readUInt32LE() : content.readBigUInt64LE());
  return content.toString(read === "hex" ? "hex" : "utf8");
}

function messageOf(fields: Message, bytes: Buffer): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  for (const field of Object.values(fields) as Field[]) if (field[2] === "many") message[field[0]] = [];
  for (let at = 0; at < bytes.length; ) {
    const [tag, contentAt] = varint(bytes, at);
    const [name, read, many] = fields[Number(tag >> 3n)] ?? assert.fail(`field ${tag >> 3n}`);
    const wireType = Number(tag & 7n);
    let value: unknown;
    if (wireType === WIRE_TYPES.varint) {
      assert.equal(read, "varint", name);
      const [number, next] = varint(bytes, contentAt);
      value = name === "kind" || name === "code" ? Number(number) : String(number);
      if (name === "boolValue") value = number === 1n;
      at = next;
    } else {
      const [length, from] =
        wireType === WIRE_TYPES.delimited
          ? varint(bytes, contentAt)
          : [wireType === WIRE_TYPES.fixed64 ? 8n : 4n, contentAt];
      const isDelimited = read === "text" || read === "hex" || typeof read === "object";
      assert.equal(wireType === WIRE_TYPES.delimited, isDelimited, name);
      at = from + Number(length);
      assert.ok(at <= bytes.length, `${name} ends behind what holds it`);
      value = readValue(read, bytes.subarray(from, at));
    }
    if (many === "many") (message[name] as unknown[]).push(value);
    else message[name] = value;
  }
  return message;
}

/** An ExportTraceServiceRequest as its JSON has it (protobuf's JSON mapping; ids in hexadecimal, as OTLP has them there). */
export function readTraces(body: Buffer): Readonly<Record<string, unknown>> {
  return messageOf(REQUEST, body);
}
