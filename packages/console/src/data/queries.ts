import { QueryClient, useQueries, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import {
  CONSOLE_API,
  CSRF_HEADER,
  type ErrorAnswer,
  type Permission,
  type SessionAnswer,
} from "../contract.ts";

/** Shows cached responses and refetches them. After a failure it offers a retry instead of retrying. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: false, networkMode: "always", refetchOnWindowFocus: false, refetchOnReconnect: false },
    // A change may contain a password, so it is not cached.
    mutations: { networkMode: "always", gcTime: 0 },
  },
});

const SESSION = ["session"];
const ANSWERS = ["answer"];

export function renewAnswers(): void {
  queries.removeQueries({ queryKey: ANSWERS, type: "inactive" });
  void queries.invalidateQueries({ queryKey: ANSWERS });
}

/** Clears the cache after a logout. */
export function forgetAnswers(): void {
  queries.removeQueries({ queryKey: ANSWERS });
}

export function renewSession(): Promise<void> {
  return queries.invalidateQueries({ queryKey: SESSION }, { cancelRefetch: false });
}

export type Parameters = Readonly<Record<string, string | number | undefined>>;

export class CallError extends Error {
  override readonly name = "CallError";
  /** 0: no response. */
  readonly status: number;
  readonly exception: string;
  /** For 429 and 503. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    answer: Pick<ErrorAnswer, "status" | "exception" | "message">,
    retryAfterSeconds?: number,
    options?: ErrorOptions,
  ) {
    super(answer.message, options);
    this.status = answer.status;
    this.exception = answer.exception;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export function addressOf(path: string, parameters: Parameters = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== "") search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}

export async function ask<Answer>(address: string, signal?: AbortSignal): Promise<Answer> {
  const response = await reach(address, signal === undefined ? {} : { signal });
  return readAnswer<Answer>(response);
}

/** `waitSeconds`: how long the response may wait until the change is applied. */
export async function post<Answer>(path: string, body: object, waitSeconds?: number): Promise<Answer> {
  const token = queries.getQueryData<SessionAnswer>(SESSION)?.csrfToken ?? null;
  const response = await reach(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token === null ? {} : { [CSRF_HEADER]: token }),
      ...(waitSeconds === undefined ? {} : { prefer: `wait=${waitSeconds}` }),
    },
    body: JSON.stringify(body),
  });
  return readAnswer<Answer>(response);
}

/**
 * Posts the fields that differ from those shown when the form opened, with their shown values. The service refuses the
 * change if another operator has changed these fields since.
 */
export async function postChanges(path: string, shown: object, now: object): Promise<void> {
  const before = new Map<string, unknown>(Object.entries(shown));
  const changes = Object.entries(now).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before.get(name)),
  );
  const replaced = changes.map(([name]) => [name, before.get(name)]);
  if (changes.length > 0)
    await post(path, { ...Object.fromEntries(changes), shown: Object.fromEntries(replaced) });
}

async function readAnswer<Answer>(response: Response): Promise<Answer> {
  try {
    return (await response.json()) as Answer;
  } catch (cause) {
    const message =
      "The answer could not be read. The console may be older than the service: load the page again.";
    throw new CallError({ status: 0, exception: "", message }, undefined, { cause });
  }
}

async function reach(address: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`${CONSOLE_API}/${address}`, { credentials: "same-origin", ...init });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    const message = "The service cannot be reached. It may be restarting, or the network is down.";
    throw new CallError({ status: 0, exception: "", message }, undefined, { cause });
  }
  if (response.ok) return response;
  const error = await readError(response);
  if (error.exception === "bellhop.console.NotLoggedIn") void renewSession();
  throw error;
}

async function readError(response: Response): Promise<CallError> {
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const seconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
  try {
    const { exception, message } = (await response.json()) as Partial<ErrorAnswer>;
    if (typeof exception === "string" && typeof message === "string")
      return new CallError({ status: response.status, exception, message }, seconds);
  } catch {}
  const message = `The service answered ${response.status} and gave no reason.`;
  return new CallError({ status: response.status, exception: "", message }, seconds);
}

/** A response. If a refetch fails, the previous response remains. */
export interface Asked<Answer> {
  readonly data: Answer | undefined;
  readonly error: CallError | null;
  /** Unix time in milliseconds, by this machine's clock. */
  readonly dataUpdatedAt: number;
  /** The data belongs to the previous query. */
  readonly isOld: boolean;
  readonly refetch: () => unknown;
}

export interface Renewal<Answer> {
  /** Milliseconds until the next refetch, while the page is visible. */
  readonly againMs?: (answer: Answer | undefined) => number | undefined;
  /** Shows the previous response until the next arrives, if only filters or the page changed. */
  readonly keeps?: boolean;
}

const HIDDEN_MS = 100;

/** Resolves after the next frame. A hidden window draws none. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, HIDDEN_MS);
  });
}

const queryOf = <Answer>(address: string, read: typeof ask<Answer> = ask) => ({
  queryKey: [...ANSWERS, address, read === ask ? "page" : "whole"],
  // Paint the input before sending its request.
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => nextFrame().then(() => read(address, signal)),
});

export function useAnswer<Answer>(
  address: string,
  { againMs, keeps = false }: Renewal<Answer> = {},
  read: typeof ask<Answer> = ask,
): Asked<Answer> {
  const { data, error, dataUpdatedAt, refetch, isPlaceholderData } = useQuery<Answer, CallError>({
    ...queryOf<Answer>(address, read),
    refetchInterval: ({ state }) => againMs?.(state.data) ?? false,
    placeholderData: (before, query) =>
      keeps && pathOf(String(query?.queryKey[1])) === pathOf(address) ? before : undefined,
  });
  return { data, error, dataUpdatedAt, refetch, isOld: isPlaceholderData };
}

const pathOf = (address: string) => address.split("?", 1)[0];

/** The pages of a list in order, up to a maximum number. */
export async function* askPages<Answer extends { readonly nextCursor?: string | null }>(
  address: string,
  pagesMax: number,
  signal?: AbortSignal,
): AsyncGenerator<Answer> {
  let next = address;
  for (let pages = 1; ; pages += 1) {
    const page = await ask<Answer>(next, signal);
    yield page;
    if (page.nextCursor === null || page.nextCursor === undefined || pages === pagesMax) return;
    next = `${address}&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}

interface Joined {
  readonly items: readonly unknown[];
  readonly nextCursor: string | null;
}

/** Of a thousand rows each. A longer list keeps its `nextCursor`. */
const JOINED_PAGES_MAX = 20;

/** All pages of a list joined, for a view that totals them. */
export async function askWhole<Answer extends Joined>(
  address: string,
  signal?: AbortSignal,
): Promise<Answer> {
  const items: unknown[] = [];
  let last: Answer | undefined;
  for await (const page of askPages<Answer>(address, JOINED_PAGES_MAX, signal)) {
    items.push(...page.items);
    last = page;
  }
  return { ...(last as Answer), items };
}

/** All responses, or none until all have arrived; until then the responses of the previous addresses. */
export function useAnswers<Answer>(
  addresses: readonly string[],
  read?: typeof ask<Answer>,
): Asked<readonly Answer[]> {
  const before = useRef<readonly Answer[]>(undefined);
  const { data, error, ...asked } = useQueries({
    queries: addresses.map((address) => queryOf<Answer>(address, read)),
    combine: (results) => ({
      data: results.every(({ data }) => data !== undefined)
        ? results.map(({ data }) => data as Answer)
        : undefined,
      error: (results.find(({ error }) => error !== null)?.error ?? null) as CallError | null,
      dataUpdatedAt: Math.min(...results.map(({ dataUpdatedAt }) => dataUpdatedAt)),
      refetch: () => results.map((result) => result.refetch()),
    }),
  });
  if (data !== undefined || error !== null) before.current = data;
  return { ...asked, error, data: data ?? before.current, isOld: data === undefined && error === null };
}

/** Without it there is no page, so the console retries when the service says so. */
export function useSession(): Omit<Asked<SessionAnswer>, "isOld"> {
  return useQuery<SessionAnswer, CallError>({
    queryKey: SESSION,
    queryFn: () => ask<SessionAnswer>("session"),
    refetchInterval: ({ state }) => (state.error?.retryAfterSeconds ?? 0) * 1000 || false,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function enter(answer: SessionAnswer): void {
  queries.setQueryData(SESSION, answer);
}

/** `code`: from an authenticator app, if the service asked for one. */
export async function logIn(name: string, password: string, code?: string): Promise<void> {
  enter(await post<SessionAnswer>("login", { name, password, ...(code === undefined ? {} : { code }) }));
}

/** Whether the operator has a permission. The console hides what is not allowed. */
export function useMay(): (permission: Permission) => boolean {
  const permissions = useSession().data?.operator?.permissions ?? [];
  return (permission) => permissions.includes(permission);
}

/** Whether the operator's grants include the property, or every property of the client code. */
export function useCovers(): (clientCode: string, propertyCode?: string) => boolean {
  const grants = useSession().data?.operator?.grants ?? [];
  return (clientCode, propertyCode = "*") =>
    ["*/*", `${clientCode}/*`, `${clientCode}/${propertyCode}`].some((grant) => grants.includes(grant));
}

export async function changePassword(current: string, password: string): Promise<void> {
  enter(await post<SessionAnswer>("password", { current, password }));
}

export async function logOut(): Promise<void> {
  await post("logout", {});
  await renewSession();
}
