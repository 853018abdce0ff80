import { useEffect, useState } from "react";
import { ask, CallError } from "./call.ts";
import type { Asked } from "./use-answer.ts";

/** The answers of several addresses together, in their order: known when all are. */
export function useAnswers<Answer>(addresses: readonly string[] | null): Asked<readonly Answer[]> {
  const joined = addresses === null ? null : addresses.join("\n");
  const [known, setKnown] = useState<{
    joined: string;
    answer?: readonly Answer[];
    error?: CallError;
    at?: number;
  }>();
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` is the wish to ask again
  useEffect(() => {
    if (joined === null) return;
    const abort = new AbortController();
    Promise.all(joined.split("\n").map((address) => ask<Answer>(address, abort.signal))).then(
      (answer) => setKnown({ joined, answer, at: Date.now() }),
      (error: unknown) => {
        if (!abort.signal.aborted && error instanceof CallError) setKnown({ joined, error });
      },
    );
    return () => abort.abort();
  }, [joined, round]);
  const current = known?.joined === joined ? known : undefined;
  return {
    answer: current?.answer,
    error: current?.error,
    at: current?.at,
    ask: () => setRound((before) => before + 1),
  };
}
