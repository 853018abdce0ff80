import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { writeCount } from "../field/format.ts";
import { Button } from "./button.tsx";

/** The progress of background work; `of` is undefined if the total is unknown until the end. */
export interface WorkProgress {
  readonly done: number;
  readonly of?: number | undefined;
}

interface Work {
  readonly id: number;
  readonly title: string;
  readonly progress: WorkProgress;
  readonly stop: () => void;
}

type Run = (report: (progress: WorkProgress) => void, signal: AbortSignal) => Promise<void>;
type Start = (title: string, run: Run) => Promise<void>;

const WorkContext = createContext<Start>((_, run) => run(() => undefined, new AbortController().signal));

/** Starts work that continues while other pages are opened. A corner shows its progress and can stop it. */
export function useWork(): Start {
  return useContext(WorkContext);
}

let started = 0;

export function WorkProvider({ children }: { children: ReactNode }) {
  const [works, setWorks] = useState<readonly Work[]>([]);
  const start = useMemo<Start>(
    () => async (title, run) => {
      const stopping = new AbortController();
      started += 1;
      const id = started;
      const put = (progress: WorkProgress) =>
        setWorks((before) => before.map((work) => (work.id === id ? { ...work, progress } : work)));
      const work = { id, title, progress: { done: 0 }, stop: () => stopping.abort() };
      setWorks((before) => [...before, work]);
      try {
        await run(put, stopping.signal);
      } finally {
        setWorks((before) => before.filter((each) => each.id !== id));
      }
    },
    [],
  );
  const isBusy = works.length > 0;
  useEffect(() => {
    if (!isBusy) return;
    // Closing the window would end the work, so the browser asks first.
    const onLeave = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", onLeave);
    return () => window.removeEventListener("beforeunload", onLeave);
  }, [isBusy]);
  return (
    <WorkContext value={start}>
      {children}
      {isBusy && (
        <section className="works" aria-label="In progress">
          {works.map(({ id, title, progress: { done, of }, stop }) => (
            <div key={id}>
              <span>{title}</span>
              <span className="muted">
                {of === undefined ? writeCount(done) : `${writeCount(done)} of ${writeCount(of)}`}
              </span>
              <Button kind="quiet" onClick={stop}>
                Stop
              </Button>
              <progress aria-label={title} max={of ?? 1} {...(of === undefined ? {} : { value: done })} />
            </div>
          ))}
        </section>
      )}
    </WorkContext>
  );
}
