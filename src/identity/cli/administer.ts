import {
  type CommandContext,
  type Declared,
  type Given,
  type Parameters,
  type Verb,
  verb,
} from "../../cli/command.ts";
import type { Session } from "../../cli/session.ts";
import { localAddress } from "../../config.ts";
import type { AuthAdmin } from "../admin.ts";

const RUNNING = new WeakMap<Session, AuthAdmin>();

/** Lets the commands of a session administer a running service (in tests) instead of opening its database. */
export function administerRunning(session: Session, admin: AuthAdmin): void {
  RUNNING.set(session, admin);
}

/** Works with the administration of clients, tokens and keys. */
export async function administer<Result>(
  session: Session,
  work: (admin: AuthAdmin) => Promise<Result>,
): Promise<Result> {
  const running = RUNNING.get(session);
  if (running !== undefined) return work(running);
  const { createAuthenticator } = await import("../authenticator.ts");
  return session.database(async ({ config, pool, log, who }) => {
    const baseUrl = config.baseUrl ?? localAddress(config);
    const addresses = () => ({ baseUrl, authUrl: config.authUrl ?? baseUrl });
    const authenticator = createAuthenticator({ pool, config, log, addresses });
    await authenticator.prepare();
    return work({ internals: authenticator.internals, who });
  });
}

/** As `verb`, with the administration of clients, tokens and keys. */
export function adminVerb<
  A extends Parameters = Record<never, never>,
  O extends Parameters = Record<never, never>,
>(
  declared: Declared<A, O> & {
    /** Returns the exit code as `run`. */
    admin(given: Given<A, O>, admin: AuthAdmin, context: CommandContext): Promise<unknown>;
  },
): Verb {
  return verb<A, O>({
    ...declared,
    run: (given, context) => administer(context.session, (admin) => declared.admin(given, admin, context)),
  });
}
