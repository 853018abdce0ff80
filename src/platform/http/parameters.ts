import { isCalendarDate, isUtcTimestamp, microsecondTimestamp } from "#contract/calendar.ts";
import { didYouMean } from "#contract/nearest.ts";
import { FRACTION_DIGITS_MAX } from "#contract/walk-value.ts";
import { type Parameter, type Schema, schemaOf } from "./openapi/model.ts";
import { isKey, KEY_CHARACTERS_MAX } from "./position.ts";
import { invalidParameter, QueryText } from "./read-parameters.ts";

/**
 * A parameter of an endpoint, declared once: its documentation, and how its text is read. Its value is a `Value`, or an `Absent` if it is
 * omitted.
 */
export interface Declared<Value, Absent = undefined> {
  readonly in: "query" | "path" | "header";
  /** Its name in the address, if it is declared under another. */
  readonly name?: string;
  readonly description: string;
  readonly required?: true;
  readonly schema: Schema;
  /** Throws ServiceError `bellhop.http.InvalidParameter`. */
  read(text: string, name: string): Value;
  /** Throws ServiceError `bellhop.http.InvalidParameter` if it is required. */
  absent(name: string): Absent;
}

/** The parameters of an endpoint, by name. Those of the console's routes have no description, because no document shows them. */
export type ParameterSet = Readonly<Record<string, Declared<unknown, unknown>>>;

/** The values of parameters. */
export type ValuesOf<Of extends ParameterSet> = {
  readonly [Name in keyof Of]:
    | ReturnType<NonNullable<Of[Name]>["read"]>
    | ReturnType<NonNullable<Of[Name]>["absent"]>;
};

/** A parameter that may be required: `takes` completes the message of one that is missing. */
interface Optional<Value> extends Declared<Value> {
  readonly takes: string;
}

const nothing = () => undefined;

/** A parameter that must be given. */
export function required<Value>({ takes, ...declared }: Optional<Value>): Declared<Value, never> {
  return {
    ...declared,
    required: true,
    absent: (name) => {
      throw invalidParameter(`${name} is required: ${takes}.`);
    },
  };
}

/** A code, id or status: 1 to 128 characters. */
export function code(description = "", example = ""): Optional<string> {
  const takes = `1 to ${KEY_CHARACTERS_MAX} characters`;
  return {
    in: "query",
    description,
    schema: {
      type: "string",
      minLength: 1,
      maxLength: KEY_CHARACTERS_MAX,
      pattern: "^[^\\u0000]*$",
      examples: [example],
    },
    takes,
    read(text, name) {
      if (!isKey(text)) throw invalidParameter(`${name} takes ${takes}, none of them NUL.`);
      return text;
    },
    absent: nothing,
  };
}

/** A calendar date `YYYY-MM-DD`. */
export function date(description = "", example = ""): Optional<string> {
  const takes = "a date as YYYY-MM-DD";
  return {
    in: "query",
    description,
    schema: { type: "string", format: "date", minLength: 10, maxLength: 10, examples: [example] },
    takes,
    read(text, name) {
      if (!isCalendarDate(text)) throw invalidParameter(`${name} takes ${takes}.`);
      return text;
    },
    absent: nothing,
  };
}

/** A UTC time. Its value has six fraction digits, so that text order is time order. */
export function instant(description = "", example = ""): Optional<string> {
  return {
    in: "query",
    description,
    schema: { ...schemaOf("Timestamp"), examples: [example] },
    takes: "a UTC time as YYYY-MM-DDThh:mm:ssZ or YYYY-MM-DDThh:mmZ",
    read(text, name) {
      if (!isUtcTimestamp(text))
        throw invalidParameter(
          `${name} takes a UTC time as YYYY-MM-DDThh:mm:ssZ, with at most ${FRACTION_DIGITS_MAX} fractional digits, or YYYY-MM-DDThh:mmZ.`,
        );
      return microsecondTimestamp(text);
    },
    absent: nothing,
  };
}

/** One of some words; `byDefault` if omitted. */
export function word<const Word extends string>(
  description: string,
  words: readonly Word[],
  example: NoInfer<Word>,
): Declared<Word>;
export function word<const Word extends string>(
  description: string,
  words: readonly Word[],
  example: NoInfer<Word>,
  byDefault: NoInfer<Word>,
): Declared<Word, Word>;
export function word<const Word extends string>(
  description: string,
  words: readonly Word[],
  example: Word,
  byDefault?: Word,
): Declared<Word, Word | undefined> {
  const fallback = byDefault === undefined ? {} : { default: byDefault };
  return {
    in: "query",
    description,
    schema: { type: "string", enum: [...words], ...fallback, examples: [example] },
    read(text, name) {
      const found = words.find((candidate) => candidate === text);
      if (found !== undefined) return found;
      throw invalidParameter(`${name} takes one of: ${words.join(", ")}${didYouMean(text, words)}.`);
    },
    absent: () => byDefault,
  };
}

/** A whole number within bounds; `byDefault` if omitted. */
export function whole(
  description: string,
  least: number,
  most: number,
  byDefault: number,
  example = byDefault,
): Declared<number, number> {
  const bounds = { minimum: least, maximum: most, default: byDefault, examples: [example] };
  return {
    in: "query",
    description,
    schema: { type: "integer", format: "int32", ...bounds },
    read(text, name) {
      const isShort = /^\d+$/.test(text) && text.length <= String(most).length;
      if (!isShort || Number(text) < least || Number(text) > most)
        throw invalidParameter(`${name} takes a whole number from ${least} to ${most}.`);
      return Number(text);
    },
    absent: () => byDefault,
  };
}

/** Opaque: any visible ASCII. */
export const CURSOR_PATTERN = "^[\\x21-\\x7e]+$";
export const EXAMPLE_PAGE_CURSOR =
  "b0p_ueQqLhbwY4uAOYkeoVbYEhJHy2zqpzCFKhnza6xKcV7BP2JCdb2XS7_eN6PabPDknSjONhVBKtZtLWc4RrBWWUCFnyU1hSdLcszPJJlDS24Z9h7cDieDPb4";

/** A cursor, which only the list that wrote it can check. */
export function cursor(description: string, example: string): Declared<string> {
  return {
    in: "query",
    description,
    schema: { type: "string", minLength: 1, maxLength: 2048, pattern: CURSOR_PATTERN, examples: [example] },
    read: (text) => text,
    absent: nothing,
  };
}

const PAGE_LIMIT =
  "The maximum number of items per page. A page may have fewer, even none: continue while `nextCursor` is not null.";

export type PageParameters = ReturnType<typeof pages>;

/** The parameters of a paged list. */
export function pages(limitMax = 1_000, limitDefault = 100) {
  return {
    limit: whole(PAGE_LIMIT, 1, limitMax, limitDefault),
    cursor: cursor(
      "The `nextCursor` of the previous page of the same query. It is opaque.",
      EXAMPLE_PAGE_CURSOR,
    ),
  };
}

/** An id in the path, in small letters. */
export function pathId(description: string, schema: Schema): Declared<string, string> {
  return {
    in: "path",
    required: true,
    description,
    schema,
    read: (text) => text.toLowerCase(),
    absent: () => "",
  };
}

/** A header, which the handler reads: it has no value here. */
export function header(name: string, description: string, schema: Schema): Declared<undefined> {
  return { in: "header", name, description, schema, read: nothing, absent: nothing };
}

/** The parameters as the OpenAPI document has them. */
export function documented(parameters: ParameterSet): Parameter[] {
  return Object.entries(parameters).map(([key, { in: where, name = key, description, required, schema }]) =>
    where === "path"
      ? { name, in: where, required: true, description, schema }
      : { name, in: where, description, ...(required && { required }), schema },
  );
}

/** The parameters of one request. */
export class RequestParameters<Of extends ParameterSet> {
  readonly values: ValuesOf<Of>;
  readonly #query: QueryText;

  /** `inPath`: the parameters of the path, as the router found them. Throws ServiceError `bellhop.http.InvalidParameter`. */
  constructor(declared: Of, address: string, inPath: Readonly<Record<string, string>> = {}) {
    const all = Object.entries(declared);
    const names = all.filter(([, one]) => one.in === "query").map(([key, { name = key }]) => name);
    this.#query = new QueryText(address, names);
    const values = all.map(([key, one]) => {
      const { name = key } = one;
      const text = one.in === "query" ? this.#query.get(name) : one.in === "path" ? inPath[name] : undefined;
      return [key, text === undefined ? one.absent(name) : one.read(text, name)];
    });
    this.values = Object.fromEntries(values) as ValuesOf<Of>;
  }

  /** Text that identifies the query of a cursor: all other parameters, as sent, in a canonical order. */
  filtersWithout(...without: string[]): string {
    return this.#query.question(without);
  }

  /** The same for paged lists. */
  get filters(): string {
    return this.filtersWithout("limit", "cursor");
  }
}
