import type { Resource } from "#contract/resource.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** One record as a partner's system sends it, and when that system sends it. */
export interface Message {
  readonly resource: Resource;
  readonly clientCode: string;
  readonly propertyCode: string;
  /** occupancyDate, reservationId or groupCode. */
  readonly key: string;
  /** createDateTime or lastModifiedDateTime as it stands in the record. */
  readonly sourceTime: string;
  /** The record as JSON text. */
  readonly json: string;
  /** Milliseconds since 1970 in the partner's world; messages in this order are the workload as first received. */
  readonly sentAtMs: number;
}

/** A state of a thing at a moment: what becomes a message, once or several times. */
export interface Moment {
  readonly atMs: number;
  /** The record without its source time and correlation id. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** What a thing is and how its source time is called. */
export interface Subject {
  readonly resource: Resource;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly key: string;
  readonly sourceTimeField: "createDateTime" | "lastModifiedDateTime";
}

/** How often, of all messages, a feed misbehaves in one of the ways that the contract has an answer for. */
const RESENT = 0.06;
const UNCHANGED = 0.08;
const LATE = 0.06;
const SAME_TIME = 0.03;
const REVERTED = 0.02;
const OTHER_SPELLING = 0.02;

const DAY_MS = 86_400_000;

/** `2016-03-01T08:30:00Z`, or the same instant with a fraction. */
function spelled(ms: number, random: SeededRandom): string {
  const iso = new Date(ms).toISOString();
  if (ms % 1000 === 0)
    return random.chance(OTHER_SPELLING) ? `${iso.slice(0, 19)}.000Z` : `${iso.slice(0, 19)}Z`;
  return random.chance(OTHER_SPELLING) ? `${iso.slice(0, 23)}000Z` : iso;
}

/**
 * The messages of one subject: one per moment, and the irregularities of real feeds: re-sent (another correlation id),
 * unchanged (newer source time), late (days after its successors), ambiguous (same source time, other content) and
 * reverted (earlier content, newer source time).
 */
export function messagesOf(subject: Subject, moments: readonly Moment[], random: SeededRandom): Message[] {
  const messages: Message[] = [];
  const send = (content: Moment["content"], sourceMs: number, sentAtMs: number): void => {
    const sourceTime = spelled(sourceMs, random);
    const record = {
      clientCode: subject.clientCode,
      propertyCode: subject.propertyCode,
      correlationId: `c-${random.next().toString(16).padStart(8, "0")}`,
      [subject.sourceTimeField]: sourceTime,
      ...content,
    };
    const { resource, clientCode, propertyCode, key } = subject;
    messages.push({
      resource,
      clientCode,
      propertyCode,
      key,
      sourceTime,
      json: JSON.stringify(record),
      sentAtMs,
    });
  };
  moments.forEach(({ atMs, content }, at) => {
    const delayMs = random.between(200, 90_000);
    const sentAtMs = atMs + (random.chance(LATE) ? random.between(1, 20) * DAY_MS : delayMs);
    send(content, atMs, sentAtMs);
    if (random.chance(RESENT)) send(content, atMs, sentAtMs + random.between(1, 5 * DAY_MS));
    if (random.chance(UNCHANGED)) {
      const againMs = atMs + random.between(1, 48) * 1_800_000;
      send(content, againMs, againMs + (random.chance(LATE) ? 9 * DAY_MS : delayMs));
    }
    if (random.chance(SAME_TIME)) send(corrected(content, at), atMs, sentAtMs + random.between(1, 60_000));
    const before = moments[at - 1];
    if (before !== undefined && random.chance(REVERTED))
      send(before.content, atMs + 700, sentAtMs + 3_600_000);
  });
  return messages;
}

/** The same thing with one detail put right within the second. */
function corrected(content: Moment["content"], at: number): Moment["content"] {
  return { ...content, correctionNote: `corrected ${at + 1}` };
}
