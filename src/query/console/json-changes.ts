import type { JsonChange } from "./answers.ts";
import { comparableOf, isList, type Node, textOf, Written } from "./written-json.ts";

const escapeOf = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** The members that identify an entry of a list. */
const NAMING = ["occupancyDate", "roomTypeCode"];

function nameOf(entry: Node | undefined): string | undefined {
  if (!(entry instanceof Map)) return undefined;
  const texts = NAMING.map((member) => entry.get(member)).filter((value) => value instanceof Written);
  return texts.map(({ text }) => JSON.parse(text)).join(" ") || undefined;
}

/** Values of the same name in two lists or objects, with the member of the JSON pointer. */
interface Pair {
  readonly member: string;
  readonly name: string;
  readonly left: Node | undefined;
  readonly right: Node | undefined;
}

/** Pairs entries by name if names are unique, so that an inserted night does not shift the others; otherwise by position. */
function entryPairs(left: readonly Node[], right: readonly Node[]): readonly Pair[] {
  const leftNames = left.map(nameOf);
  const rightNames = right.map(nameOf);
  const placeOf = new Map(leftNames.map((name, at) => [name, at]));
  const isNamed = placeOf.size === left.length && new Set(rightNames).size === right.length;
  const sameName = rightNames.map((name) => (isNamed ? placeOf.get(name) : undefined));
  const taken = new Set(sameName);
  const rest = [...left.keys()].filter((at) => !taken.has(at));
  let used = 0;
  const pairs = right.map((entry, at): Pair => {
    const from = sameName[at] ?? rest[used++];
    const before = from === undefined ? undefined : left[from];
    return { member: String(at), name: rightNames[at] ?? String(at + 1), left: before, right: entry };
  });
  const removed = rest.slice(used).map((at): Pair => {
    return { member: String(at), name: leftNames[at] ?? String(at + 1), left: left[at], right: undefined };
  });
  return [...pairs, ...removed];
}

/** Undefined if neither has parts, or they differ in kind. */
function partsOf(left: Node | undefined, right: Node | undefined): readonly Pair[] | undefined {
  const one = left ?? right;
  const [before, after] = isList(one) ? [left ?? [], right ?? []] : [left ?? new Map(), right ?? new Map()];
  if (isList(before) && isList(after)) return entryPairs(before, after);
  if (!(before instanceof Map && after instanceof Map)) return undefined;
  return [...new Set<string>([...after.keys(), ...before.keys()])].map((name) => ({
    member: name,
    name,
    left: before.get(name),
    right: after.get(name),
  }));
}

function isSameLeaf(left: Node | undefined, right: Node | undefined): boolean {
  if (!(left instanceof Written && right instanceof Written)) return false;
  if (left.text === right.text) return true;
  // Numbers are compared as written, strings by value.
  const areTexts = left.text.startsWith('"') && right.text.startsWith('"');
  return areTexts && JSON.parse(left.text) === JSON.parse(right.text);
}

/** A value's way from the root. */
interface Place {
  readonly within: Place | undefined;
  readonly part: Pair;
}

function partsFromRoot(place: Place | undefined): Pair[] {
  const parts: Pair[] = [];
  for (let at = place; at !== undefined; at = at.within) parts.unshift(at.part);
  return parts;
}

/** Fits a text of 4,096 characters with all of them escaped as two. A longer value is truncated with an ellipsis. */
const VALUE_CHARACTERS_MAX = 8_200;
/** Of all listed differences; a partner chooses the lengths of names and of values. */
const LISTED_CHARACTERS_MAX = 65_536;

function changeAt(place: Place | undefined, left: Node | undefined, right: Node | undefined): JsonChange {
  const parts = partsFromRoot(place);
  const written = (node: Node | undefined) => {
    if (node === undefined) return null;
    const text = textOf(node);
    return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}…` : text;
  };
  return {
    pointer: parts.map(({ member }) => `/${escapeOf(member)}`).join(""),
    path: parts.map(({ name }) => name),
    before: written(left),
    after: written(right),
  };
}

function charactersOf({ pointer, path, before, after }: JsonChange): number {
  const texts = [pointer, ...path, before ?? "", after ?? ""];
  return texts.reduce((sum, text) => sum + text.length, 0);
}

interface Comparison {
  readonly changes: readonly JsonChange[];
  readonly total: number;
}

/**
 * The differences between two records as sent, leaf by leaf in the order of the later one: at most `most`, as many as
 * LISTED_CHARACTERS_MAX allows, and their total. Strings are compared by value, numbers verbatim: 1.0 and 1.00 differ.
 */
export function changesBetween(before: Node, after: Node, most: number): Comparison {
  const changes: JsonChange[] = [];
  let total = 0;
  let room = LISTED_CHARACTERS_MAX;
  const list = (change: JsonChange): void => {
    room -= charactersOf(change);
    if (room >= 0) changes.push(change);
  };
  const compare = (place: Place | undefined, left?: Node, right?: Node): void => {
    const parts = partsOf(left, right);
    const isEmpty = parts?.length === 0 && (left === undefined || right === undefined);
    if (parts !== undefined && !isEmpty) {
      for (const part of parts) compare({ within: place, part }, part.left, part.right);
    } else if (!isSameLeaf(left, right)) {
      total += 1;
      if (changes.length < most && room > 0) list(changeAt(place, left, right));
    }
  };
  compare(undefined, before, after);
  return { changes, total };
}

export const CHANGES_MAX = 200;
/** Undefined if one of them is too large. */
export function compareRecords(before: Buffer, after: Buffer, most = CHANGES_MAX): Comparison | undefined {
  const [left, right] = [comparableOf(before), comparableOf(after)];
  return left === undefined || right === undefined ? undefined : changesBetween(left, right, most);
}
