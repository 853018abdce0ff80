import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";
import type { SessionAnswer } from "../contract.ts";
import { ask, CallError, carryCsrfToken, tell, whenLoggedOut } from "./call.ts";
import { forgetAnswers } from "./use-answer.ts";

interface Session {
  /** Undefined until the service has answered. */
  readonly answer: SessionAnswer | undefined;
  readonly error: CallError | undefined;
  readonly askAgain: () => void;
  readonly logIn: (name: string, password: string) => Promise<void>;
  readonly logOut: () => Promise<void>;
  readonly changePassword: (current: string, password: string) => Promise<void>;
}

const SessionContext = createContext<Session | undefined>(undefined);

/** Who is logged in, for everything within. */
export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const [answer, setAnswer] = useState<SessionAnswer>();
  const [error, setError] = useState<CallError>();

  const take = useCallback((next: SessionAnswer) => {
    carryCsrfToken(next.csrfToken);
    setAnswer(next);
    setError(undefined);
  }, []);
  const askAgain = useCallback(() => {
    ask<SessionAnswer>("session").then(take, (failure: unknown) => {
      if (failure instanceof CallError) setError(failure);
    });
  }, [take]);

  useEffect(() => {
    whenLoggedOut(() => {
      forgetAnswers();
      askAgain();
    });
    askAgain();
  }, [askAgain]);

  const session = useMemo<Session>(
    () => ({
      answer,
      error,
      askAgain,
      logIn: async (name, password) => take(await tell<SessionAnswer>("login", { name, password })),
      logOut: async () => {
        await tell("logout", {});
        forgetAnswers();
        askAgain();
      },
      changePassword: async (current, password) =>
        take(await tell<SessionAnswer>("password", { current, password })),
    }),
    [answer, error, askAgain, take],
  );
  return <SessionContext value={session}>{children}</SessionContext>;
}

/** The session of the SessionProvider around. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("useSession is asked outside of SessionProvider");
  return session;
}
