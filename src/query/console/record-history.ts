import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { letterOf, RESOURCES, type ResourceLetter } from "#contract/resource.ts";
import type { JsonChange, Page, VersionItem } from "../../console/answers.ts";
import type { ConsoleParts } from "../../console/console-parts.ts";
import { addQuestion, pagingOf } from "../../console/console-routes.ts";
import { requireInScope } from "../../console/guard.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import type { ListPage, Position } from "../../platform/http/position.ts";
import { invalidParameter } from "../../platform/http/read-parameters.ts";
import { findVersions, HISTORY_POSITION, type HistoryRow } from "../list-records.ts";
import { isNoLongerKept, loadRecords } from "../load-records.ts";
import { outcomeName } from "../outcome.ts";
import { findProperty, type Property } from "../property.ts";
import { payloadOf } from "./requests.ts";

/** A scalar with its original digits, so that a change from 120.5 to 120.50 is visible. */
class Written {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Node = Written | readonly Node[] | ReadonlyMap<string, Node>;

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

function textOf(node: Node): string {
  if (node instanceof Written) return node.text;
  if (isList(node)) return `[${node.map(textOf).join(",")}]`;
  return `{${[...node].map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`).join(",")}}`;
}

function isList(node: Node | undefined): node is readonly Node[] {
  return Array.isArray(node);
}

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
  const named = new Map(left.map((entry) => [nameOf(entry), entry]));
  const isNamed = named.size === left.length && new Set(right.map(nameOf)).size === right.length;
  const sameName = right.map((entry) => (isNamed ? named.get(nameOf(entry)) : undefined));
  const rest = left.filter((entry) => !sameName.includes(entry));
  const pairOf = (at: number, before: Node | undefined, after: Node | undefined): Pair => ({
    member: String(at),
    name: nameOf(after ?? before) ?? String(at + 1),
    left: before,
    right: after,
  });
  return [
    ...right.map((entry, at) => pairOf(at, sameName[at] ?? rest.shift(), entry)),
    ...rest.map((entry) => pairOf(left.indexOf(entry), entry, undefined)),
  ];
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

/**
 * The differences between two records as sent, leaf by leaf in the order of the later one: at most `most`, and their total. Strings are
 * compared by value, numbers verbatim: 1.0 and 1.00 differ.
 */
export function changesBetween(
  before: string,
  after: string,
  most: number,
): { readonly changes: readonly JsonChange[]; readonly total: number } {
  const changes: JsonChange[] = [];
  let total = 0;
  const compare = (pointer: string, path: readonly string[], left?: Node, right?: Node): void => {
    const parts = partsOf(left, right);
    const isEmpty = parts?.length === 0 && (left === undefined || right === undefined);
    if (parts !== undefined && !isEmpty) {
      for (const part of parts)
        compare(`${pointer}/${escapeOf(part.member)}`, [...path, part.name], part.left, part.right);
    } else if (!isSameLeaf(left, right)) {
      total += 1;
      const textOrNull = (node: Node | undefined) => (node === undefined ? null : textOf(node));
      if (changes.length < most)
        changes.push({ pointer, path, before: textOrNull(left), after: textOrNull(right) });
    }
  };
  compare("", [], parse(before), parse(after));
  return { changes, total };
}

const CHANGES_MAX = 200;
/** Larger versions are not compared in the list; an operator can open each one. */
const COMPARED_BYTES_MAX = 262_144;

/** Undefined if one of them is too large. */
export function compareRecords(before: Buffer, after: Buffer): ReturnType<typeof changesBetween> | undefined {
  if (Math.max(before.length, after.length) > COMPARED_BYTES_MAX) return undefined;
  return changesBetween(before.toString("utf8"), after.toString("utf8"), CHANGES_MAX);
}

/**
 * One page of a record's versions, oldest first by (source time, receipt), each with its differences from the previous version. For the
 * first of a page, the last version of the previous page is read again.
 */
export async function readRecordHistory(
  pool: pg.Pool,
  property: Property,
  resource: ResourceLetter,
  key: string,
  start: Position | null,
  limit: number,
): Promise<ListPage<VersionItem>> {
  const { items: rows, next } = await findVersions(pool, property, resource, key, start, limit);
  const before = start === null ? [] : [rowOfPosition(start)];
  const wanted = [...before, ...rows];
  const { bucket } = property;
  const pointers = wanted.map(({ requestId, index }) => ({ bucket, requestId, index }));
  const items: VersionItem[] = [];
  let previous: { readonly record: Buffer | undefined } | undefined;
  let at = 0;
  for await (const bytes of loadRecords(pool, pointers)) {
    const row = wanted[at] as HistoryRow;
    // The bytes are valid only until the next record is requested.
    const record = isNoLongerKept(bytes) ? undefined : Buffer.from(bytes);
    if (at >= before.length) items.push(itemOf(resource, row, record, previous));
    previous = { record };
    at += 1;
  }
  return { items, next };
}

function rowOfPosition([sourceTime, requestId, index]: Position): HistoryRow {
  return { sourceTime: String(sourceTime), requestId: String(requestId), index: Number(index), outcome: "a" };
}

const STATUS_FIELD: Readonly<Partial<Record<ResourceLetter, string>>> = { r: "status", g: "groupStatusCode" };

/** The record's status; null if it has none. */
function statusOf(resource: ResourceLetter, record: Buffer): string | null {
  const field = STATUS_FIELD[resource];
  if (field === undefined || record.length > COMPARED_BYTES_MAX) return null;
  const value = (JSON.parse(record.toString("utf8")) as Readonly<Record<string, unknown>>)[field];
  return typeof value === "string" ? value : null;
}

function itemOf(
  resource: ResourceLetter,
  row: HistoryRow,
  record: Buffer | undefined,
  before: { readonly record: Buffer | undefined } | undefined,
): VersionItem {
  const isFirst = before === undefined;
  const compared = record && before?.record && compareRecords(before.record, record);
  const { changes, total } = compared ?? { changes: [], total: isFirst ? 0 : null };
  return {
    sourceTime: row.sourceTime,
    receivedAt: isoOfMicroseconds(microsecondsOf(row.requestId)),
    requestId: row.requestId,
    index: row.index,
    outcome: outcomeName(row.outcome),
    status: record ? statusOf(resource, record) : null,
    // A newer version was current when this one was applied.
    late: row.outcome === "s",
    changes,
    changeTotal: total,
    payload: record ? payloadOf(record, COMPARED_BYTES_MAX) : null,
  };
}

/** An answer may contain 256 kB per version, each compared with the previous one. */
const VERSIONS_LIMIT_MAX = 50;

/** Adds the route for the versions of one record with their differences. */
export function addHistoryRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const parameters = ["resource", "clientCode", "propertyCode", "key", "limit", "cursor"];
  addQuestion(
    scope,
    parts,
    "read-data",
    "history",
    parameters,
    async ({ query, operator }): Promise<Page<VersionItem>> => {
      const resource = query.word("resource", RESOURCES);
      if (resource === undefined) throw invalidParameter(`resource takes one of: ${RESOURCES.join(", ")}.`);
      const clientCode = query.requiredCode("clientCode");
      const propertyCode = query.requiredCode("propertyCode");
      const key = query.requiredCode("key");
      requireInScope(operator, clientCode, propertyCode);
      const paging = pagingOf(parts, "history", query, HISTORY_POSITION, VERSIONS_LIMIT_MAX);
      const { limit, start, cursorOf } = paging;
      const { pool } = parts.context;
      const property = await findProperty(pool, clientCode, propertyCode);
      if (property === undefined) return { items: [], nextCursor: null };
      const letter = letterOf(resource);
      const { items, next } = await readRecordHistory(pool, property, letter, key, start, limit);
      return { items, nextCursor: cursorOf(next) };
    },
  );
}
