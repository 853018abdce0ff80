import { useQueries, useQuery } from "@tanstack/react-query";
import type { SessionAnswer } from "../contract.ts";
import { ask, type CallError, tell } from "./call.ts";
import { keyOf, queries, renewSession, SESSION } from "./query-client.ts";

/** What is known of an address's answer. A failed renewal keeps the answer before it. */
export interface Asked<Answer> {
  readonly data: Answer | undefined;
  readonly error: CallError | null;
  /** In milliseconds, by this machine's clock. */
  readonly dataUpdatedAt: number;
  readonly refetch: () => unknown;
}

interface Renewal<Answer> {
  /** After how many milliseconds the answer is asked for again while the page is visible; undefined: not. */
  readonly againMs?: (answer: Answer | undefined) => number | undefined;
  /** Shown until the answer comes. */
  readonly meanwhile?: (before: Answer | undefined) => Answer | undefined;
}

const queryOf = <Answer>(address: string) => ({
  queryKey: keyOf(address),
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => ask<Answer>(address, signal),
});

/** The answer of an address of the console's API. Null asks nothing. */
export function useAnswer<Answer>(
  address: string | null,
  { againMs, meanwhile }: Renewal<Answer> = {},
): Asked<Answer> {
  return useQuery<Answer, CallError>({
    ...queryOf<Answer>(address ?? ""),
    enabled: address !== null,
    refetchInterval: ({ state }) => againMs?.(state.data) ?? false,
    ...(meanwhile === undefined ? {} : { placeholderData: meanwhile as never }),
  });
}

/** The answers of several addresses together, in their order. */
export function useAnswers<Answer>(addresses: readonly string[]): Asked<readonly Answer[]> {
  return useQueries({
    queries: addresses.map((address) => queryOf<Answer>(address)),
    combine: (results) => ({
      data: results.every(({ data }) => data !== undefined)
        ? results.map(({ data }) => data as Answer)
        : undefined,
      error: (results.find(({ error }) => error !== null)?.error ?? null) as CallError | null,
      dataUpdatedAt: Math.min(...results.map(({ dataUpdatedAt }) => dataUpdatedAt)),
      refetch: () => results.map((result) => result.refetch()),
    }),
  });
}

/** Who is logged in. */
export function useSession(): Asked<SessionAnswer> {
  return useQuery<SessionAnswer, CallError>({
    queryKey: SESSION,
    queryFn: () => ask<SessionAnswer>("session"),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function enter(answer: SessionAnswer): void {
  queries.setQueryData(SESSION, answer);
}

export async function logIn(name: string, password: string): Promise<void> {
  enter(await tell<SessionAnswer>("login", { name, password }));
}

export async function changePassword(current: string, password: string): Promise<void> {
  enter(await tell<SessionAnswer>("password", { current, password }));
}

export async function logOut(): Promise<void> {
  await tell("logout", {});
  await renewSession();
}
