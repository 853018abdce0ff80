import { ConflictError, InputError } from "../platform/errors/operator-error.ts";
import type { AuthInternals } from "./authenticator.ts";
import type { Scope } from "./scope.ts";

/** Context for managing clients, keys and tokens from a command, the console or the service. */
export interface AuthAdmin {
  readonly internals: AuthInternals;
  /** The actor for the audit: `cli:<user>` or `console:<operator>`. */
  readonly who: string;
  /** The clients that a console operator may see; undefined means all. */
  readonly scope?: Scope;
}

export class AuthInputError extends InputError {}

/** Throws AuthInputError with the message unless the condition holds. */
export function demand(isMet: boolean, message: string): asserts isMet {
  if (!isMet) throw new AuthInputError(message);
}

/** Throws ConflictError if a field has changed since the form was shown. */
export function demandUnchanged<Now extends object>(
  now: Now,
  shown: Readonly<Record<string, unknown>>,
): void {
  for (const [name, value] of Object.entries(shown))
    if (JSON.stringify(now[name as keyof Now]) !== JSON.stringify(value))
      throw new ConflictError(
        `Someone else changed this (${name}) after you opened the form. Open it again.`,
      );
}

export const isWhole = (value: number, least: number, most: number): boolean =>
  Number.isInteger(value) && value >= least && value <= most;
