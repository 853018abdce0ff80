import { SOUGHT } from "./noted-fields.ts";
import type { Resource } from "./resource.ts";
import { isWhitespace } from "./scan-element.ts";
import { skipValue } from "./skip-value.ts";
import { SOUGHT_FROM, SPAN_PLANS, type SpanMember } from "./span-plan.ts";
import { forgetRuns, isGlueAt, memberAt, nameEnd, noteRun, textEnd, walkSpace } from "./walk-members.ts";
import { UNSURE } from "./walk-value.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Not content, and the only such member that a record may lack. */
const OPTIONAL = Buffer.from("correlationId");
/** What a record is known by, with its source time: those of SOUGHT before the status, a bit each. */
const IDENTITY_MEMBERS = SOUGHT.status;
const IDENTITY = 2 ** IDENTITY_MEMBERS - 1;
const ALL = IDENTITY | (1 << IDENTITY_MEMBERS);

/** Where some bytes come next among others, looked for once over all of them; places are asked for in order. */
class NextPlace {
  readonly #bytes: Buffer;
  readonly #wanted: Buffer | number;
  #place = -1;

  constructor(bytes: Buffer, wanted: Buffer | number) {
    this.#bytes = bytes;
    this.#wanted = wanted;
  }

  isWithin(from: number, to: number): boolean {
    if (this.#place < from) {
      const place = this.#bytes.indexOf(this.#wanted, from);
      this.#place = place < 0 ? this.#bytes.length : place;
    }
    return this.#place < to;
  }
}

/** Bytes in which records lie end to end, to be walked over in order. */
export class RecordBytes {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly #escape: NextPlace;
  readonly #optional: NextPlace;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#escape = new NextPlace(bytes, BACKSLASH);
    this.#optional = new NextPlace(bytes, OPTIONAL);
  }

  /** Whether there surely is no correlation id from one place up to another, however it is spelled. */
  hasNoCorrelationId(from: number, to: number): boolean {
    return !this.#optional.isWithin(from, to) && !this.#escape.isWithin(from, to);
  }
}

/** Of the walk that is going on: start and end of each text of the identity and of the source time, in the order of SOUGHT. */
const places = new Int32Array(2 * IDENTITY_MEMBERS);
/** Where a text of the record that was walked last begins or, of `end`, is over. */
export function placeFound(sought: number, end: 0 | 1): number {
  return places[2 * sought + end] as number;
}

/**
 * Walks over the members of one accepted record up to the first that holds others, where most of its bytes are, and notes
 * what it is known by and the runs of its content: all that an unchanged record is looked at for. No name comes twice, so
 * once both members that are not content have been passed, or cannot come any more, the rest is content to its end.
 * `false` says nothing: another order, or an escape in what is looked at; the whole record is to be walked over.
 */
export function walkHead(resource: Resource, record: RecordBytes, start: number, end: number): boolean {
  const body = record.bytes;
  if (body[start] !== OPEN_OBJECT || body[end - 1] !== CLOSE_OBJECT) return false;
  const plan = SPAN_PLANS[resource];
  const soughtFrom = SOUGHT_FROM[resource];
  forgetRuns();
  let found = 0;
  let last: SpanMember | undefined;
  let at = walkSpace(body, start + 1);
  while (at < end - 1) {
    const memberStart = at;
    let member = last === undefined ? plan.first : last.next;
    if (member !== undefined && isGlueAt(record.view, at, member)) at += member.glueLength;
    else {
      member = memberAt(body, at, plan, last);
      if (nameEnd === UNSURE) return false;
      at = walkSpace(body, nameEnd);
      if (body[at] !== COLON) return false;
      at += 1;
    }
    at = walkSpace(body, at);
    if (body[at] === OPEN_ARRAY || body[at] === OPEN_OBJECT)
      return isRestContent(record, found, memberStart, end);
    if (member === undefined) at = skipValue(body, at);
    else {
      const sought = (member.sought - soughtFrom) >> 1;
      if (member.sought !== 0 && sought < IDENTITY_MEMBERS) {
        at = noteText(body, at, sought);
        found |= 1 << sought;
      } else at = skipValue(body, at);
      if (!member.isContent && member.sought === 0) found |= 1 << IDENTITY_MEMBERS;
      last = member;
    }
    if (at === UNSURE) return false;
    noteRun(memberStart, at, member === undefined || member.isContent);
    at = walkSpace(body, at);
    if (body[at] !== COMMA) break;
    at = walkSpace(body, at + 1);
    if (found === ALL) return isRestContent(record, found, at, end);
  }
  return at === end - 1 && (found & IDENTITY) === IDENTITY;
}

/** Whether all is found and the members from `from` on are content, which are then noted as such. */
function isRestContent(record: RecordBytes, found: number, from: number, end: number): boolean {
  if ((found & IDENTITY) !== IDENTITY) return false;
  if (found !== ALL && !record.hasNoCorrelationId(from, end)) return false;
  let over = end - 1;
  while (isWhitespace(record.bytes[over - 1] as number)) over -= 1;
  noteRun(from, over, true);
  return true;
}

/** Notes where a text that is sought stands, and answers where it is over. */
function noteText(body: Uint8Array, at: number, sought: number): number {
  if (body[at] !== QUOTE) return UNSURE;
  const end = textEnd(body, at + 1);
  if (end === UNSURE) return UNSURE;
  places[2 * sought] = at + 1;
  places[2 * sought + 1] = end;
  return end + 1;
}
