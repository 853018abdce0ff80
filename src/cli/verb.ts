import { type ParseArgsConfig, parseArgs } from "node:util";
import { type AuthAdmin, AuthInputError } from "../auth/admin.ts";
import { createAuthenticator } from "../auth/authenticator.ts";
import { AuthSetupError } from "../auth/seal.ts";
import { complaintOf } from "./complaint.ts";
import { openForCommand } from "./open-for-command.ts";

/** What a command works with that has verbs. Lines go out without their newline. */
export interface VerbContext {
  out(line: string): void;
  err(line: string): void;
  /** Opens the database for `work`, and closes it. */
  withAdmin(work: (admin: AuthAdmin) => Promise<number>): Promise<number>;
}

/** A command line that cannot be understood: the message says what is wrong with it. Exit code 2. */
export class UsageError extends Error {}

/** The context of a command started from a shell. */
export function shellContext(environment: NodeJS.ProcessEnv): VerbContext {
  return {
    out: (line) => void process.stdout.write(`${line}\n`),
    err: (line) => void process.stderr.write(`${line}\n`),
    withAdmin: (work) =>
      openForCommand(environment, async ({ config, database, log, who }) => {
        const host = config.host.includes(":") ? `[${config.host}]` : config.host;
        const baseUrl = config.baseUrl ?? `http://${host}:${config.port}`;
        const addresses = () => ({ baseUrl, authUrl: config.authUrl ?? baseUrl });
        const authenticator = createAuthenticator({ pool: database.pool, config, log, addresses });
        await authenticator.prepare();
        return work({ internals: authenticator.internals, who });
      }),
  };
}

/** One verb of a command: its usage, and what it does with the rest of the line. */
export interface Verb {
  readonly usage: string;
  run(args: readonly string[], context: VerbContext): Promise<number>;
}

export type Verbs = Readonly<Record<string, Verb>>;

/**
 * Runs the verb that the line begins with. Answers the exit code: 0 done, 1 it could not be done, 2 the line is wrong;
 * the last two with a message on standard error that says what would be right.
 */
export async function runVerb(
  command: string,
  verbs: Verbs,
  args: readonly string[],
  context: VerbContext,
): Promise<number> {
  const [name, ...rest] = args;
  const usages = Object.values(verbs).map((verb) => `  ${verb.usage}`);
  if (name === undefined || name === "--help" || name === "help") {
    const write = name === undefined ? context.err : context.out;
    for (const line of ["Usage:", ...usages]) write(line);
    return name === undefined ? 2 : 0;
  }
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb === undefined) {
    context.err(
      `bellhop ${command}: there is no ${JSON.stringify(name)}; there is ${Object.keys(verbs).join(", ")}.`,
    );
    return 2;
  }
  return runOne(verb, rest, context);
}

/** Runs one verb, or a command that has only one, and turns its errors into messages. */
export async function runOne(verb: Verb, args: readonly string[], context: VerbContext): Promise<number> {
  if (args.includes("--help")) {
    context.out(`Usage:\n  ${verb.usage}`);
    return 0;
  }
  try {
    return await verb.run(args, context);
  } catch (error) {
    if (error instanceof AuthInputError || error instanceof AuthSetupError) {
      context.err(`bellhop: ${error.message}`);
      return 1;
    }
    if (!(error instanceof UsageError)) throw error;
    context.err(`bellhop: ${error.message}\nUsage:\n  ${verb.usage}`);
    return 2;
  }
}

/** node:util's parseArgs, whose complaints become UsageErrors. */
export function readArgs<const Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? complaintOf(cause) : String(cause), { cause });
  }
}

/** The option of verbs that answer in JSON when asked to. */
export const JSON_OPTION = { json: { type: "boolean", default: false } } as const;

/** The one positional argument or the option in its place. Throws UsageError when there is none, or more than one. */
export function readOne(what: string, positionals: readonly string[], option?: string): string {
  const given = option === undefined ? positionals : [option, ...positionals];
  const [only] = given;
  if (only === undefined || only === "") throw new UsageError(`${what} is missing.`);
  if (given.length > 1) throw new UsageError(`One ${what} at a time, not ${given.join(" ")}.`);
  return only;
}

/** A whole number of an option; undefined when it was not given. */
export function readCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text))
    throw new UsageError(`--${name} is a whole number, not ${JSON.stringify(text)}.`);
  return Number(text);
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of a duration such as `90s`, `15m`, `24h` or `7d`; undefined when it was not given. */
export function readDuration(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit] = /^(\d{1,7})([smhd])$/.exec(text) ?? [];
  const seconds = unit === undefined ? undefined : UNIT_SECONDS[unit];
  if (count === undefined || seconds === undefined) {
    throw new UsageError(`--${name} is a duration such as 90s, 15m, 24h or 7d, not ${JSON.stringify(text)}.`);
  }
  return Number(count) * seconds;
}
