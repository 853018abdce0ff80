import { useMutation } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import type { CallError } from "../data/call.ts";
import { renewAnswers } from "../data/query-client.ts";

const SHOWN_MS = 6000;
const SayContext = createContext<(words: string) => void>(() => undefined);

/** Shows what was done, in a corner and to screen readers. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [said, setSaid] = useState({ words: "", times: 0 });
  useEffect(() => {
    if (said.words === "") return;
    const timer = setTimeout(() => setSaid({ words: "", times: 0 }), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const [say] = useState(() => (words: string) => setSaid(({ times }) => ({ words, times: times + 1 })));
  return (
    <SayContext value={say}>
      {children}
      <div className="toast" role="status">
        {said.words}
      </div>
    </SayContext>
  );
}

/** Shows a sentence in the corner. */
export function useSay(): (words: string) => void {
  return useContext(SayContext);
}

/** A change that the operator makes: whether it is under way, and why it failed. */
export interface Deed {
  readonly busy: boolean;
  readonly error: CallError | null;
  /** Does the work, then says `done`. */
  readonly run: (work: () => Promise<unknown>, done?: string) => void;
}

/** Runs one change at a time; afterwards every answer is asked for again. */
export function useDeed(): Deed {
  const say = useSay();
  const { mutate, isPending, error } = useMutation<unknown, CallError, () => Promise<unknown>>({
    mutationFn: (work) => work(),
    onSettled: renewAnswers,
  });
  const run = (work: () => Promise<unknown>, done?: string) => {
    if (isPending) return;
    mutate(async () => {
      await work();
      if (done !== undefined) say(done);
    });
  };
  return { busy: isPending, error, run };
}
