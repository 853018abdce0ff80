import { skipWhitespace } from "./scan-element.ts";
import { GLUE_WORDS, type SpanMember, type SpanPlan } from "./span-plan.ts";
import { standsAt, UNSURE } from "./walk-value.ts";

// What the walk over a record's head and the one over all of it do with the members of an object.

// Compiled code knows what a module's own constants are, and has to look at those of others each time.
const WORDS = GLUE_WORDS;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

// Of the walk that is going on; one runs at a time, from its begin to its end.
/** Where the name that `memberAt` looked at is over; UNSURE where that cannot be told. */
export let nameEnd = 0;
let isRunOpen = false;
let runNumbers = 0;
/** Start and end of each run of content. Two members are none, so there are at most three. */
const runs = new Int32Array(8);

export function walkSpace(body: Uint8Array, at: number): number {
  return (body[at] as number) <= SPACE ? skipWhitespace(body, at) : at;
}

/** Whether a member's name and colon stand at `at`: four bytes at a time, since names are most of a record's bytes. */
export function isGlueAt(
  view: DataView,
  at: number,
  { glueLength, wordFirst, wordLast }: SpanMember,
): boolean {
  const last = at + glueLength - 4;
  if (last + 4 > view.byteLength) return false;
  let here = at;
  for (let word = wordFirst; word < wordLast; word += 1) {
    if (view.getInt32(here, true) !== WORDS[word]) return false;
    here += 4;
  }
  return view.getInt32(last, true) === WORDS[wordLast];
}

/**
 * The member whose name begins at `at`, and in `nameEnd` where that is over; none for an unknown name. It is remembered as
 * the one that comes after `last`.
 */
export function memberAt(
  body: Uint8Array,
  at: number,
  plan: SpanPlan,
  last: SpanMember | undefined,
): SpanMember | undefined {
  nameEnd = UNSURE;
  if (body[at] !== QUOTE) return undefined;
  const end = textEnd(body, at + 1);
  // With an escape in it, it may be any name.
  if (end === UNSURE) return undefined;
  nameEnd = end + 1;
  for (const member of plan.members) {
    if (member.name.length !== end - at - 1 || !standsAt(body, at, member.quoted)) continue;
    if (last === undefined) plan.first = member;
    else last.next = member;
    return member;
  }
  return undefined;
}

/** The closing quote of the text whose first byte stands at `at`; UNSURE for one with an escape, or without an end. */
export function textEnd(body: Uint8Array, at: number): number {
  for (let end = at; end < body.length; end += 1) {
    const byte = body[end];
    if (byte === QUOTE) return end;
    if (byte === BACKSLASH) return UNSURE;
  }
  return UNSURE;
}

export function forgetRuns(): void {
  runNumbers = 0;
  isRunOpen = false;
}

/** Takes a member of the record itself into the runs of content, or ends the last run. */
export function noteRun(start: number, end: number, isContent: boolean): void {
  if (!isContent) isRunOpen = false;
  else if (isRunOpen) runs[runNumbers - 1] = end;
  else {
    isRunOpen = true;
    runs[runNumbers] = start;
    runs[runNumbers + 1] = end;
    runNumbers += 2;
  }
}

/** Start and end of each run of content of the record that was walked last. */
export function runsFound(): Int32Array {
  return runs.subarray(0, runNumbers);
}
