import { AsyncLocalStorage } from "node:async_hooks";
import pg from "pg";
import { isDriven } from "./watch-statements.ts";

/** A server that has not ended a statement this long after it was asked to is left: it ends the session. */
const CANCEL_MS_MAX = 500;

type Query = (...parameters: unknown[]) => unknown;

/** What pg's types leave out. */
interface Connected {
  readonly processID: number;
  readonly secretKey: number;
  readonly connection: {
    readonly stream: { destroy(): void };
    startup: () => void;
    cancel(processId: number, secretKey: number): void;
  };
}

/** Of whatever is read at the moment: aborts when nobody waits for it any more. */
const current = new AsyncLocalStorage<AbortSignal | undefined>();

/**
 * Reads for somebody who may leave: once the signal aborts, the statement that runs is cancelled on the server, no other begins, and
 * the reading fails with the signal's reason. Only for what changes nothing.
 */
export function readFor<Result>(signal: AbortSignal, read: () => Result): Result {
  return current.run(signal, read);
}

/** Does something that is to be finished whether or not its reader leaves. */
export function apartFromReader<Result>(work: () => Result): Result {
  return current.run(undefined, work);
}

/** Asks the server to end the statement that a client has running, as its own protocol has it: on a connection of its own. */
export async function cancelStatement(client: pg.ClientBase, config: pg.ClientConfig): Promise<void> {
  const { processID, secretKey } = client as unknown as Connected;
  const asking = new pg.Client({ ...config, connectionTimeoutMillis: CANCEL_MS_MAX });
  const { connection } = asking as unknown as Connected;
  connection.startup = () => connection.cancel(processID, secretKey);
  asking.on("error", () => undefined);
  // The server closes the connection without an answer.
  await asking.connect().catch(() => undefined);
}

/** Has the statements of a pool's connection heed the reader that they are asked for. A connection with one that was cancelled is to be given up. */
export function heedReaders(client: pg.ClientBase, config: pg.ClientConfig): void {
  const heeding = client as unknown as { query: Query };
  const query = heeding.query.bind(client);
  const stop = () => {
    void cancelStatement(client, config);
    return setTimeout(() => (client as unknown as Connected).connection.stream.destroy(), CANCEL_MS_MAX);
  };
  heeding.query = (...parameters) => {
    const signal = current.getStore();
    const hasCallback = parameters.some((parameter) => typeof parameter === "function");
    if (signal === undefined || hasCallback) return query(...parameters);
    const [statement] = parameters;
    const driven = isDriven(statement) ? statement : undefined;
    if (signal.aborted)
      return driven === undefined ? Promise.reject(signal.reason) : driven.callback(signal.reason);
    let leaving: NodeJS.Timeout | undefined;
    const leave = () => {
      leaving = stop();
    };
    const over = () => {
      signal.removeEventListener("abort", leave);
      clearTimeout(leaving);
    };
    signal.addEventListener("abort", leave, { once: true });
    if (driven !== undefined) {
      const settle = driven.callback;
      driven.callback = (error) => {
        over();
        settle(signal.aborted ? signal.reason : error);
      };
      return query(...parameters);
    }
    return (query(...parameters) as Promise<unknown>).then(
      (result) => {
        over();
        signal.throwIfAborted();
        return result;
      },
      (error) => {
        over();
        throw signal.aborted ? signal.reason : error;
      },
    );
  };
}
