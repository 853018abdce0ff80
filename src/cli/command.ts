import { UsageError } from "../platform/errors/operator-error.ts";
import { isUuid } from "../platform/http/position.ts";
import type { Field, Output } from "./output.ts";
import type { Progress } from "./progress.ts";
import type { Opened, Session } from "./session.ts";

/** An option or argument of a verb: its help and completion, and how it is parsed. */
export interface Parameter<Value> {
  /** Its placeholder; flags have none. */
  readonly value?: string;
  readonly help: string;
  readonly choices?: readonly string[];
  readonly isRequired?: boolean;
  readonly isMany?: boolean;
  readonly byDefault?: string;
  /** An argument that may also be given as `--name`. */
  readonly isAlsoOption?: boolean;
  /** `given`: the values in order. `name`: for error messages. Throws UsageError. */
  read(given: readonly string[], name: string): Value;
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>;
type AnyGiven = Readonly<Record<string, unknown>>;
type Values<P extends Parameters> = { readonly [Name in keyof P]: ReturnType<P[Name]["read"]> };
/** The values of a verb's arguments and options. */
export type Given<A extends Parameters, O extends Parameters> = Values<A> & Values<O>;

/** A command of the program, loaded on demand. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Noun>;
}

/** The context of a verb. `json`: whether --json was given. */
export interface CommandContext {
  readonly output: Output;
  readonly progress: Progress;
  readonly session: Session;
  /** Every command, for completion. */
  readonly commands: readonly CommandEntry[];
  readonly json: boolean;
}

/** A verb for help, completion and dispatch. */
export interface Verb {
  readonly summary: string;
  readonly details?: string;
  /** A list shown below the options, with its line breaks. */
  readonly list?: { readonly title: string; readonly items: readonly Field[] };
  readonly args: Parameters;
  readonly options: Parameters;
  /** Command lines without the leading `bellhop`. */
  readonly examples: readonly [string, ...string[]];
  /** The output of --json; without it there is no --json. */
  readonly json?: string;
  readonly exitCodes?: string;
  run(given: AnyGiven, context: CommandContext): Promise<unknown>;
}

/** A noun with verbs, with a default verb, or both. */
export interface Noun {
  readonly verbs?: Readonly<Record<string, Verb>>;
  readonly own?: Verb;
}

/** Implementation of a verb. Returns its exit code; undefined means 0. */
type Work<G> =
  | { run(given: G, context: CommandContext): Promise<unknown> }
  /** With the service's database. */
  | { database(given: G, opened: Opened, context: CommandContext): Promise<unknown> };

/** A verb without its implementation. */
export type Declared<A extends Parameters, O extends Parameters> = Omit<Verb, "args" | "options" | "run"> & {
  readonly args?: A;
  readonly options?: O;
  /** Throws UsageError for incompatible values, before anything is opened. */
  check?(given: Given<A, O>): void;
  /** The question to confirm at a terminal; undefined: none. */
  confirms?(given: Given<A, O>): string | undefined;
};

/** Declares a verb. */
export function verb<
  A extends Parameters = Record<never, never>,
  O extends Parameters = Record<never, never>,
>(declared: Declared<A, O> & Work<Given<A, O>>): Verb {
  // Values read by the declared parameters have their types.
  const work = declared as unknown as Work<AnyGiven> & {
    check?(given: AnyGiven): void;
    confirms?(given: AnyGiven): string | undefined;
  };
  const run: Verb["run"] = async (given, context) => {
    work.check?.(given);
    const question = work.confirms?.(given);
    if (question !== undefined) {
      context.progress.show(undefined);
      await context.output.confirm(question);
      context.progress.stepOver();
    }
    if ("run" in work) return work.run(given, context);
    return context.session.database((opened) => work.database(given, opened, context));
  };
  return { ...declared, args: declared.args ?? {}, options: declared.options ?? {}, run };
}

export function flag(help: string): Parameter<boolean> {
  return { help, read: (given) => given.length > 0 };
}

/** Option of commands that ask for confirmation. */
export const YES = flag("do not ask for confirmation (only a terminal is asked)");

/** An option parsed by `read`; the last occurrence counts. */
export function parsed<Value>(
  value: string,
  help: string,
  read: (text: string, name: string) => Value,
): Parameter<Value | undefined> {
  return {
    value,
    help,
    read(given, name) {
      const text = given.at(-1);
      return text === undefined ? undefined : read(text, name);
    },
  };
}

export function text(value: string, help: string): Parameter<string | undefined> {
  return parsed(value, help, (given) => given);
}

/** An option that may be repeated. */
export function texts(value: string, help: string): Parameter<string[]> {
  return { value, help, isMany: true, read: (given) => [...given] };
}

export function choice<const Word extends string>(
  value: string,
  words: readonly Word[],
  help: string,
  /** The default shown in help. */
  byDefault?: string,
): Parameter<Word | undefined> {
  const one = parsed(value, help, (given, name) => {
    const word = words.find((known) => known === given);
    if (word === undefined)
      throw new UsageError(`${name} must be ${listText(words)}, not ${JSON.stringify(given)}.`);
    return word;
  });
  return { ...one, choices: words, ...(byDefault === undefined ? {} : { byDefault }) };
}

/** `a, b or c`. */
export function listText(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

export function count(
  help: string,
  { least = 0, most = 999_999_999 }: { readonly least?: number; readonly most?: number } = {},
): Parameter<number | undefined> {
  return parsed("N", help, (given, name) => {
    const value = /^\d{1,10}$/.test(given) ? Number(given) : Number.NaN;
    if (value >= least && value <= most) return value;
    const range = most === 999_999_999 ? "" : ` from ${least} to ${most}`;
    throw new UsageError(`${name} must be a whole number${range}, not ${JSON.stringify(given)}.`);
  });
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of a duration such as `90s`, `15m`, `24h` or `7d`. */
export function duration(help: string): Parameter<number | undefined> {
  return parsed("TIME", help, (given, name) => {
    const [, amount, unit] = /^(\d{1,7})([smhd])$/.exec(given) ?? [];
    const seconds = UNIT_SECONDS[unit ?? ""];
    if (amount !== undefined && seconds !== undefined) return Number(amount) * seconds;
    throw new UsageError(
      `${name} must be a duration such as 90s, 15m, 24h or 7d, not ${JSON.stringify(given)}.`,
    );
  });
}

export function required<Value>(parameter: Parameter<Value | undefined>): Parameter<Value> {
  return {
    ...parameter,
    isRequired: true,
    read(given, name) {
      const value = [undefined, ""].includes(given.at(-1)) ? undefined : parameter.read(given, name);
      if (value === undefined) throw new UsageError(`${name} is missing.`);
      return value;
    },
  };
}

export function withDefault<Value>(
  parameter: Parameter<Value | undefined>,
  value: Value,
  shown = String(value),
): Parameter<Value> {
  return {
    ...parameter,
    byDefault: shown,
    read: (given, name) => parameter.read(given, name) ?? value,
  };
}

/** A client id, as an argument or as --client-id. */
export const CLIENT_ID: Parameter<string> = {
  ...required(text("CLIENT_ID", "the client's id (bellhop client list)")),
  isAlsoOption: true,
};

/** The id of a request, as the service writes it. */
export const REQUEST_ID = parsed("REQUEST_ID", "the id of the request", (given, name) => {
  const id = given.toLowerCase();
  if (isUuid(id)) return id;
  throw new UsageError(`${name} must be the UUID of a request, not ${JSON.stringify(given)}.`);
});
/** `createdAt` as `--created-at`. */
export function optionName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
