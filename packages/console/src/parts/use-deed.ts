import { useState } from "react";
import { CallError } from "../data/call.ts";
import { forgetAnswers } from "../data/use-answer.ts";

/** Something that the operator does: whether it is under way, and why it failed. */
export interface Deed {
  readonly busy: boolean;
  readonly error: CallError | undefined;
  readonly run: (work: () => Promise<void>) => void;
  readonly clear: () => void;
}

/** Runs one thing at a time; what had been asked before is asked anew afterwards. */
export function useDeed(): Deed {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<CallError>();
  const run = (work: () => Promise<void>) => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    work()
      .catch((failure: unknown) => {
        if (!(failure instanceof CallError)) throw failure;
        setError(failure);
      })
      .finally(() => {
        forgetAnswers();
        setBusy(false);
      });
  };
  return { busy, error, run, clear: () => setError(undefined) };
}
