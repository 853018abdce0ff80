/** A scalar with its original digits, so that a change from 120.5 to 120.50 is visible. */
export class Written {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Node = Written | readonly Node[] | ReadonlyMap<string, Node>;

/** JSON.parse gives a reviver the source of each scalar (ECMA-262, JSON.parse source text access). */
type SourceReviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;
const parseWith = JSON.parse as (text: string, reviver: SourceReviver) => unknown;

function parse(text: string): Node {
  const reviver: SourceReviver = (_key, value, { source }) => {
    if (source !== undefined) return new Written(source);
    if (Array.isArray(value)) return value;
    return new Map(Object.entries(value as object));
  };
  return parseWith(text, reviver) as Node;
}

export function textOf(node: Node): string {
  if (node instanceof Written) return node.text;
  if (isList(node)) return `[${node.map(textOf).join(",")}]`;
  return `{${[...node].map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`).join(",")}}`;
}

export function isList(node: Node | undefined): node is readonly Node[] {
  return Array.isArray(node);
}

/** Larger versions are not compared in the list; an operator can open each one. */
export const COMPARED_BYTES_MAX = 262_144;
/** As many fit in COMPARED_BYTES_MAX with the field names of the specification. Parsing and comparing them takes about 30 ms. */
const COMPARED_VALUES_MAX = 16_384;

/** The bytes that begin a value or a list of values: comma, bracket and brace. */
const BEGIN = new Set(Buffer.from(",[{"));

function hasManyValues(record: Buffer): boolean {
  let begun = 0;
  for (const byte of record) if (BEGIN.has(byte)) begun += 1;
  return begun > COMPARED_VALUES_MAX;
}

/** A record to compare; undefined if it is too large. */
export function comparableOf(record: Buffer): Node | undefined {
  if (record.length > COMPARED_BYTES_MAX || hasManyValues(record)) return undefined;
  return parse(record.toString("utf8"));
}
