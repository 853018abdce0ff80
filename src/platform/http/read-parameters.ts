import { isCalendarDate, isUtcTimestamp, microsecondTimestamp } from "#contract/calendar.ts";
import { didYouMean } from "#contract/nearest.ts";
import { FRACTION_DIGITS_MAX } from "#contract/walk-value.ts";
import { ServiceError } from "../errors/registry.ts";
import { type Instant, readInstant } from "./instant.ts";
import { isKey, KEY_CHARACTERS_MAX } from "./position.ts";

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1_000;
const PAGING = ["limit", "cursor"];
const QUERY_CHARACTERS_MAX = 8_192;

/** An error whose message names the parameter and its valid values. */
export function invalidParameter(message: string): ServiceError {
  return new ServiceError("bellhop.http.InvalidParameter", { message });
}

/** Decodes one name or value of a form or query; undefined if its escapes are malformed or not UTF-8. */
export function decodeFormText(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Quotes an unchecked name for a message: printable ASCII, truncated. */
function shown(name: string): string {
  return JSON.stringify(name.slice(0, 40)).replace(/[^\x20-\x7e]/g, "?");
}

/** A query string. Unknown, repeated and undecodable parameters are errors, because ignoring a filter would return wrong data. */
export class QueryParameters {
  readonly #values = new Map<string, string>();
  readonly #allowed: readonly string[];

  constructor(address: string, allowed: readonly string[]) {
    this.#allowed = allowed;
    const mark = address.indexOf("?");
    const query = mark < 0 ? "" : address.slice(mark + 1);
    if (query.length > QUERY_CHARACTERS_MAX)
      throw invalidParameter(`The query is longer than ${QUERY_CHARACTERS_MAX} characters.`);
    for (const pair of query.split("&")) {
      if (pair !== "") this.#add(pair);
    }
  }

  #add(pair: string): void {
    const equals = pair.indexOf("=");
    const name = decodeFormText(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? "" : decodeFormText(pair.slice(equals + 1));
    if (name === undefined || !this.#allowed.includes(name)) {
      const known = this.#allowed.length === 0 ? "none" : this.#allowed.join(", ");
      throw invalidParameter(
        `The parameter ${shown(name ?? pair)} is not known${didYouMean(name ?? pair, this.#allowed)}; this address takes: ${known}.`,
      );
    }
    if (value === undefined) throw invalidParameter(`${name} is not percent-encoded UTF-8.`);
    if (this.#values.has(name)) throw invalidParameter(`${name} must be given once.`);
    this.#values.set(name, value);
  }

  /** A code, id or status: 1 to 128 characters. */
  code(name: string): string | undefined {
    const value = this.#values.get(name);
    if (value !== undefined && !isKey(value))
      throw invalidParameter(`${name} takes 1 to ${KEY_CHARACTERS_MAX} characters, none of them NUL.`);
    return value;
  }

  requiredCode(name: string): string {
    const value = this.code(name);
    if (value === undefined)
      throw invalidParameter(`${name} is required: 1 to ${KEY_CHARACTERS_MAX} characters.`);
    return value;
  }

  /** A calendar date `YYYY-MM-DD`. */
  date(name: string): string | undefined {
    const value = this.#values.get(name);
    if (value !== undefined && !isCalendarDate(value))
      throw invalidParameter(`${name} takes a date as YYYY-MM-DD.`);
    return value;
  }

  /** A UTC timestamp with six fraction digits, so that text order is time order. */
  timestamp(name: string): string | undefined {
    const value = this.#values.get(name);
    if (value !== undefined && !isUtcTimestamp(value))
      throw invalidParameter(
        `${name} takes a UTC time as YYYY-MM-DDThh:mm:ssZ, with at most ${FRACTION_DIGITS_MAX} fractional digits, or YYYY-MM-DDThh:mmZ.`,
      );
    return value === undefined ? undefined : microsecondTimestamp(value);
  }

  instant(name: string): Instant | undefined {
    const value = this.timestamp(name);
    return value === undefined ? undefined : readInstant(value);
  }

  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const value = this.#values.get(name);
    const word = words.find((candidate) => candidate === value);
    if (value !== undefined && word === undefined)
      throw invalidParameter(`${name} takes one of: ${words.join(", ")}${didYouMean(value, words)}.`);
    return word;
  }

  whole(name: string, least: number, most: number): number | undefined {
    const value = this.#values.get(name);
    if (value === undefined) return undefined;
    const isShort = /^\d+$/.test(value) && value.length <= String(most).length;
    if (!isShort || Number(value) < least || Number(value) > most)
      throw invalidParameter(`${name} takes a whole number from ${least} to ${most}.`);
    return Number(value);
  }

  /** The page size: 1 to 1,000, by default 100. */
  limit(): number {
    return this.whole("limit", 1, LIMIT_MAX) ?? LIMIT_DEFAULT;
  }

  cursor(): string | undefined {
    return this.#values.get("cursor");
  }

  /** The query as sorted parameters, without those of paging (or `without`). Cursors are bound to it. */
  question(without: readonly string[] = PAGING): string {
    const asked = [...this.#values].filter(([name]) => !without.includes(name));
    return JSON.stringify(asked.sort(([left], [right]) => (left < right ? -1 : 1)));
  }
}

/** Refuses a range whose `from` is after its `to`. */
export function checkOrder(from: string | undefined, to: string | undefined): void {
  if (from !== undefined && to !== undefined && from > to)
    throw invalidParameter("from must not be after to.");
}
