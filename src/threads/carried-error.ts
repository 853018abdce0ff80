/** What of an error goes from one thread to another: cloning alone keeps neither its code nor a socket's address. */
export interface CarriedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly fields: Readonly<Record<string, string | number>>;
  readonly cause: CarriedError | undefined;
}

const FIELDS = ["code", "syscall", "address", "port", "hostname", "severity"];

/** A chain of causes is followed this far. */
const CAUSES_MAX = 5;

export function carryError(error: unknown, depth = 0): CarriedError {
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

/** The error again, on the other side: its name, words, code and causes, not its class. */
export function unpackError({ name, message, stack, fields, cause }: CarriedError): Error {
  const error = new Error(message, cause === undefined ? {} : { cause: unpackError(cause) });
  return Object.assign(error, { name, stack, ...fields });
}
