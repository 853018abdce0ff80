import type { JsonChange } from "./answers.ts";

/** A scalar as it was written: 120.50 is not 120.5, to whoever looks for what a hotel changed. */
class Written {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Node = Written | readonly Node[] | ReadonlyMap<string, Node>;

/** JSON.parse tells a reviver the source of each scalar (ECMA-262, JSON.parse source text access). */
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

function textOf(node: Node): string {
  if (node instanceof Written) return node.text;
  if (isList(node)) return `[${node.map(textOf).join(",")}]`;
  return `{${[...node].map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`).join(",")}}`;
}

function isList(node: Node): node is readonly Node[] {
  return Array.isArray(node);
}

const escapeOf = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1");

/**
 * What is different between two records, both as they were sent: pointers to what changed, was added or was taken away, in
 * the order of the later one. Entries of lists are compared place by place. Answers at most `most` of them, and how many there
 * are. Texts are equal as JSON.parse reads them: "A" and "\u0041" are no change, 1.0 and 1.00 are one.
 */
export function changesBetween(
  before: string,
  after: string,
  most: number,
): { readonly changes: readonly JsonChange[]; readonly total: number } {
  const changes: JsonChange[] = [];
  let total = 0;
  const note = (pointer: string, left: Node | undefined, right: Node | undefined) => {
    total += 1;
    if (changes.length >= most) return;
    changes.push({
      pointer,
      before: left === undefined ? null : textOf(left),
      after: right === undefined ? null : textOf(right),
    });
  };
  const compare = (pointer: string, left: Node | undefined, right: Node | undefined): void => {
    if (left === undefined || right === undefined) {
      note(pointer, left, right);
    } else if (left instanceof Written && right instanceof Written) {
      if (!isSameScalar(left.text, right.text)) note(pointer, left, right);
    } else if (isList(left) && isList(right)) {
      for (let at = 0; at < Math.max(left.length, right.length); at += 1)
        compare(`${pointer}/${at}`, left[at], right[at]);
    } else if (left instanceof Map && right instanceof Map) {
      for (const name of new Set([...right.keys(), ...left.keys()]) as Set<string>)
        compare(`${pointer}/${escapeOf(name)}`, left.get(name), right.get(name));
    } else {
      note(pointer, left, right);
    }
  };
  compare("", parse(before), parse(after));
  return { changes, total };
}

function isSameScalar(left: string, right: string): boolean {
  if (left === right) return true;
  // Numbers differ as they are written; texts by what they say.
  return left.startsWith('"') && right.startsWith('"') && JSON.parse(left) === JSON.parse(right);
}
