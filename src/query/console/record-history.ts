import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { NOTED, SOUGHT } from "#contract/record-plan.ts";
import { letterOf, RESOURCES, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { ConsoleParts } from "../../console/console-parts.ts";
import { addQuestion, pagingOf } from "../../console/console-routes.ts";
import { requireInScope } from "../../console/guard.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import type { Page } from "../../platform/http/answers.ts";
import type { ListPage, Position } from "../../platform/http/position.ts";
import { invalidParameter } from "../../platform/http/read-parameters.ts";
import { findVersions, HISTORY_POSITION, type HistoryRow } from "../list-records.ts";
import { isNoLongerKept, loadRecords } from "../load-records.ts";
import { outcomeName } from "../outcome.ts";
import { findProperty, type Property } from "../property.ts";
import type { JsonChange, Payload, VersionItem } from "./answers.ts";
import { payloadOf } from "./requests.ts";
import { COMPARED_BYTES_MAX, comparableOf, isList, type Node, textOf, Written } from "./written-json.ts";

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
function changesBetween(before: Node, after: Node, most: number): Comparison {
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

const CHANGES_MAX = 200;
/** Undefined if one of them is too large. */
export function compareRecords(before: Buffer, after: Buffer, most = CHANGES_MAX): Comparison | undefined {
  const [left, right] = [comparableOf(before), comparableOf(after)];
  return left === undefined || right === undefined ? undefined : changesBetween(left, right, most);
}

/** Of all payloads of a page; further ones are truncated. */
const PAYLOAD_BYTES_MAX = 4 * 1_048_576;

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
  let previous: Version | undefined;
  let at = 0;
  let room = PAYLOAD_BYTES_MAX;
  for await (const bytes of loadRecords(pool, pointers)) {
    // Other requests get a turn between two versions.
    await new Promise((resume) => setImmediate(resume));
    const row = wanted[at] as HistoryRow;
    const comparable = isNoLongerKept(bytes) ? undefined : comparableOf(bytes);
    const payload = isNoLongerKept(bytes) ? null : payloadOf(bytes, Math.min(COMPARED_BYTES_MAX, room));
    const version = { row, comparable, payload };
    if (at >= before.length) {
      items.push(itemOf(resource, version, previous));
      room -= payload?.text.length ?? 0;
    }
    previous = version;
    at += 1;
  }
  return { items, next };
}

interface Version {
  readonly row: HistoryRow;
  /** Undefined if too large to compare or no longer kept. */
  readonly comparable: Node | undefined;
  readonly payload: Payload | null;
}

function rowOfPosition([sourceTime, requestId, index]: Position): HistoryRow {
  return { sourceTime: String(sourceTime), requestId: String(requestId), index: Number(index), outcome: "a" };
}

/** The record's status; null if it has none. */
function statusOf(resource: ResourceLetter, record: Node | undefined): string | null {
  const field = NOTED[resourceOf(resource)].sought?.[SOUGHT.status];
  const value = record instanceof Map ? record.get(field ?? "") : undefined;
  if (!(value instanceof Written && value.text.startsWith('"'))) return null;
  return JSON.parse(value.text) as string;
}

function itemOf(
  resource: ResourceLetter,
  { row, comparable, payload }: Version,
  previous: Version | undefined,
): VersionItem {
  const isCompared = comparable !== undefined && previous?.comparable !== undefined;
  const { changes, total } = isCompared
    ? changesBetween(previous.comparable, comparable, CHANGES_MAX)
    : { changes: [], total: previous === undefined ? 0 : null };
  return {
    sourceTime: row.sourceTime,
    receivedAt: isoOfMicroseconds(microsecondsOf(row.requestId)),
    requestId: row.requestId,
    index: row.index,
    outcome: outcomeName(row.outcome),
    status: statusOf(resource, comparable),
    // A newer version was current when this one was applied.
    late: row.outcome === "s",
    changes,
    changeTotal: total,
    payload,
  };
}

/** Each version is compared with the previous one. */
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
