import { QueryClient } from "@tanstack/react-query";
import type { SessionAnswer } from "../contract.ts";

/** Every answer is shown from the cache at once and asked for again. A failure is shown with a way to try again, not retried. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: false, networkMode: "always", refetchOnWindowFocus: false, refetchOnReconnect: false },
    // A change may carry a password: it is dropped once it is done.
    mutations: { networkMode: "always", gcTime: 0 },
  },
});

export const SESSION = ["session"];
const ANSWERS = ["answer"];

export const keyOf = (address: string) => [...ANSWERS, address];

/** After a change every answer is asked for again. */
export function renewAnswers(): void {
  queries.removeQueries({ queryKey: ANSWERS, type: "inactive" });
  void queries.invalidateQueries({ queryKey: ANSWERS });
}

/** After a logout no answer may remain. */
export function forgetAnswers(): void {
  queries.removeQueries({ queryKey: ANSWERS });
}

/** The session has ended, or may have. */
export function renewSession(): Promise<void> {
  return queries.invalidateQueries({ queryKey: SESSION }, { cancelRefetch: false });
}

export function csrfToken(): string | null {
  return queries.getQueryData<SessionAnswer>(SESSION)?.csrfToken ?? null;
}
