import { useMutation } from "@tanstack/react-query";
import type { CallError } from "../data/call.ts";
import { renewAnswers } from "../data/query-client.ts";

/** Something that the operator does: whether it is under way, and why it failed. */
export interface Deed {
  readonly busy: boolean;
  readonly error: CallError | null;
  readonly run: (work: () => Promise<void>) => void;
}

/** Runs one change at a time; afterwards every answer is asked for again. */
export function useDeed(): Deed {
  const { mutate, isPending, error } = useMutation<void, CallError, () => Promise<void>>({
    mutationFn: (work) => work(),
    onSettled: renewAnswers,
  });
  const run = (work: () => Promise<void>) => {
    if (!isPending) mutate(work);
  };
  return { busy: isPending, error, run };
}
