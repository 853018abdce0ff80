import type pg from "pg";
import { currentWaits } from "../telemetry/request-waits.ts";

/** Hears of statements that took long. */
export interface StatementWatch {
  /** From so many milliseconds on. */
  readonly slowMs: number;
  /**
   * A statement took `durationMs` from being asked to its answer, an error's too. `statement`: the name of its file, or its
   * first words; never what was asked or answered.
   */
  slow(statement: string, durationMs: number): void;
}

type Query = (...parameters: unknown[]) => unknown;

/** A statement that drives pg's client by itself, as `CopyIn`. */
export interface Driven {
  readonly name?: string;
  submit: unknown;
  callback: (error?: Error) => void;
}

const WORDS_SHOWN = 2;

/** What a statement may be called in a log. */
function nameOf(statement: unknown): string {
  const { name, text } = (typeof statement === "string" ? { text: statement } : statement) as {
    readonly name?: string;
    readonly text?: string;
  };
  return name ?? (text ?? "").trim().split(/\s+/, WORDS_SHOWN).join(" ").toLowerCase();
}

export function isDriven(statement: unknown): statement is Driven {
  return typeof statement === "object" && statement !== null && "submit" in statement;
}

/**
 * Takes the time of every statement of a connection: of those that are asked by a promise as the database's part of the
 * request they are asked for, too.
 */
export function watchStatements(client: pg.ClientBase, watch: StatementWatch): void {
  const watched = client as unknown as { query: Query };
  const query = watched.query.bind(client);
  watched.query = (...parameters) => {
    const [statement] = parameters;
    const startedAt = performance.now();
    const over = () => {
      const durationMs = performance.now() - startedAt;
      if (durationMs >= watch.slowMs) watch.slow(nameOf(statement), durationMs);
      return durationMs;
    };
    if (isDriven(statement)) {
      const settle = statement.callback;
      statement.callback = (error) => {
        over();
        settle(error);
      };
      return query(...parameters);
    }
    const at = parameters.findIndex((parameter) => typeof parameter === "function");
    if (at !== -1) {
      const answer = parameters[at] as Query;
      parameters[at] = (...results: unknown[]) => {
        over();
        return answer(...results);
      };
      return query(...parameters);
    }
    const waits = currentWaits();
    const asked = query(...parameters) as Promise<unknown>;
    const count = () => {
      const durationMs = over();
      if (waits !== undefined) waits.database += durationMs;
    };
    asked.then(count, count);
    return asked;
  };
}

/** Has a request's wait for a connection of a pool counted. */
export function countWaits(pool: pg.Pool): void {
  const counted = pool as unknown as { connect: Query };
  const connect = counted.connect.bind(pool);
  counted.connect = (...parameters) => {
    const waits = currentWaits();
    if (waits === undefined || typeof parameters.at(-1) === "function") return connect(...parameters);
    const startedAt = performance.now();
    const asked = connect(...parameters) as Promise<unknown>;
    const count = () => {
      waits.database += performance.now() - startedAt;
    };
    asked.then(count, count);
    return asked;
  };
}
