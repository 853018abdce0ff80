import { useCallback, useEffect, useRef, useState } from "react";
import { ask, CallError } from "./call.ts";

/** What is known of an address's answer. A later failure keeps the answer before it. */
export interface Asked<Answer> {
  readonly answer: Answer | undefined;
  readonly error: CallError | undefined;
  /** When `answer` came, by this machine's clock, in milliseconds. */
  readonly at: number | undefined;
  readonly ask: () => void;
}

interface Known<Answer> {
  readonly address: string;
  readonly answer?: Answer;
  readonly error?: CallError;
  readonly at?: number;
}

/** So many answers stay for going back and forth; they are shown at once and asked for again. */
const REMEMBERED_MAX = 40;
const remembered = new Map<string, { answer: unknown; at: number }>();

/** After a change everything is asked anew, and after a logout nothing may be left. */
export function forgetAnswers(): void {
  remembered.clear();
}

function remember(address: string, answer: unknown, at: number): void {
  remembered.delete(address);
  remembered.set(address, { answer, at });
  for (const oldest of remembered.keys()) {
    if (remembered.size <= REMEMBERED_MAX) break;
    remembered.delete(oldest);
  }
}

function recall<Answer>(address: string): Known<Answer> {
  const found = remembered.get(address);
  return found === undefined ? { address } : { address, answer: found.answer as Answer, at: found.at };
}

/**
 * The answer of an address. `againMs` says after how many milliseconds it is asked for again while the page is in sight; without it,
 * or where it says undefined, it is not. Null asks nothing (something it needs is not known yet).
 */
export function useAnswer<Answer>(
  address: string | null,
  againMs?: (answer: Answer | undefined) => number | undefined,
): Asked<Answer> {
  const [known, setKnown] = useState<Known<Answer>>(() => recall(address ?? ""));
  const [round, setRound] = useState(0);
  const again = useCallback(() => setRound((before) => before + 1), []);
  const current = known.address === address ? known : recall<Answer>(address ?? "");
  const latest = useRef(current);
  latest.current = current;
  const pause = useRef(againMs);
  pause.current = againMs;

  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` is the wish to ask again
  useEffect(() => {
    if (address === null) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = (answer: Answer | undefined) => {
      const waitMs = pause.current?.(answer);
      if (waitMs !== undefined && !abort.signal.aborted) timer = setTimeout(run, waitMs);
    };
    const run = async () => {
      if (document.hidden && latest.current.answer !== undefined) return next(latest.current.answer);
      const before = latest.current.address === address ? latest.current : { address };
      try {
        const answer = await ask<Answer>(address, abort.signal);
        const at = Date.now();
        remember(address, answer, at);
        setKnown({ address, answer, at });
        next(answer);
      } catch (error) {
        if (abort.signal.aborted) return;
        setKnown({ ...before, error: error instanceof CallError ? error : unexpected(error) });
        next(before.answer);
      }
    };
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [address, round]);

  return { answer: current.answer, error: current.error, at: current.at, ask: again };
}

function unexpected(cause: unknown): CallError {
  const message =
    "The answer could not be read. The console may be older than the service: load the page again.";
  return new CallError({ status: 0, exception: "", message }, undefined, { cause });
}
