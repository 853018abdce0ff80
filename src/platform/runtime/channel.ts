/** An error in a form that can be cloned: structured cloning drops its code and a socket's address. */
interface CarriedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly fields: Readonly<Record<string, string | number>>;
  readonly cause: CarriedError | undefined;
}

const FIELDS = ["code", "syscall", "address", "port", "hostname", "severity"];

/** Maximum length of a chain of causes. */
const CAUSES_MAX = 5;

function carryError(error: unknown, depth = 0): CarriedError {
  if (!(error instanceof Error)) {
    return { name: "Error", message: String(error), stack: undefined, fields: {}, cause: undefined };
  }
  const all = error as unknown as Readonly<Record<string, unknown>>;
  const fields: Record<string, string | number> = {};
  for (const name of FIELDS) {
    const value = all[name];
    if (typeof value === "string" || typeof value === "number") fields[name] = value;
  }
  const cause =
    error.cause === undefined || depth === CAUSES_MAX ? undefined : carryError(error.cause, depth + 1);
  return { name: error.name, message: error.message, stack: error.stack, fields, cause };
}

/** Restores name, message, code and causes of an error, but not its class. */
function unpackError({ name, message, stack, fields, cause }: CarriedError): Error {
  const error = new Error(message, cause === undefined ? {} : { cause: unpackError(cause) });
  return Object.assign(error, { name, stack, ...fields });
}

/** The functions that one side of a channel serves. Arguments and results must be cloneable. */
export type Calls = Readonly<Record<string, (argument: never) => unknown>>;

type Argument<Theirs extends Calls, Name extends keyof Theirs> = Parameters<Theirs[Name]>[0];
type Answer<Theirs extends Calls, Name extends keyof Theirs> = Awaited<ReturnType<Theirs[Name]>>;

type Message =
  | {
      readonly kind: "call";
      readonly id: number | undefined;
      readonly name: string;
      readonly argument: unknown;
    }
  | { readonly kind: "answer"; readonly id: number; readonly result: unknown }
  | { readonly kind: "failure"; readonly id: number; readonly error: CarriedError };

/** A Worker, or a thread's port to its parent. */
export interface Port {
  postMessage(message: unknown): void;
  on(event: "message", listener: (message: Message) => void): unknown;
}

/** Calls between a thread and its parent, in both directions. Each side serves `own` and calls `Theirs`. */
export class Channel<Theirs extends Calls> {
  readonly #port: Port;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #closed: Error | undefined;

  constructor(port: Port, own: Calls) {
    this.#port = port;
    port.on("message", (message) => {
      if (message.kind === "call") void this.#answer(own, message.id, message.name, message.argument);
      else this.#settle(message);
    });
  }

  /** Calls the other side. Rejects with its error, if the channel closes first, or after `waitMsMax`. */
  async call<Name extends keyof Theirs & string>(
    name: Name,
    argument: Argument<Theirs, Name>,
    waitMsMax?: number,
  ): Promise<Answer<Theirs, Name>> {
    if (this.#closed !== undefined) throw this.#closed;
    this.#lastId += 1;
    const id = this.#lastId;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#port.postMessage({ kind: "call", id, name, argument });
    const late =
      waitMsMax === undefined
        ? undefined
        : setTimeout(() => this.#giveUp(id, new Error(`${name} received no response in time.`)), waitMsMax);
    try {
      return (await waiting.promise) as Answer<Theirs, Name>;
    } finally {
      clearTimeout(late);
    }
  }

  /** Calls the other side without waiting for a result. */
  send<Name extends keyof Theirs & string>(name: Name, argument: Argument<Theirs, Name>): void {
    this.#port.postMessage({ kind: "call", id: undefined, name, argument });
  }

  /** Rejects pending and future calls with this error, because the other side is gone. */
  close(error: Error): void {
    this.#closed = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  async #answer(own: Calls, id: number | undefined, name: string, argument: unknown): Promise<void> {
    if (id === undefined) {
      await own[name]?.(argument as never);
      return;
    }
    try {
      const result = await own[name]?.(argument as never);
      this.#port.postMessage({ kind: "answer", id, result });
    } catch (error) {
      this.#port.postMessage({ kind: "failure", id, error: carryError(error) });
    }
  }

  #giveUp(id: number, error: Error): void {
    this.#waiting.get(id)?.reject(error);
    this.#waiting.delete(id);
  }

  #settle(message: Exclude<Message, { kind: "call" }>): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.kind === "answer") waiting?.resolve(message.result);
    else waiting?.reject(unpackError(message.error));
  }
}
