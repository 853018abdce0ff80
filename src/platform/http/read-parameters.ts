import { didYouMean } from "#contract/nearest.ts";
import { ServiceError } from "../errors/registry.ts";

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
export class QueryText {
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

  get(name: string): string | undefined {
    return this.#values.get(name);
  }

  /** The query as sorted parameters, without some. Cursors are bound to it. */
  question(without: readonly string[]): string {
    const asked = [...this.#values].filter(([name]) => !without.includes(name));
    return JSON.stringify(asked.sort(([left], [right]) => (left < right ? -1 : 1)));
  }
}

/** Refuses a range whose `from` is after its `to`. */
export function checkOrder(from: string | undefined, to: string | undefined): void {
  if (from !== undefined && to !== undefined && from > to)
    throw invalidParameter("from must not be after to.");
}
