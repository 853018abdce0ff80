/** Exit codes of a process ended by a signal. */
const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export interface StopSignals {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** The exit code of the signal; undefined if there was none. */
  code(): number | undefined;
  /** Restores the signals' default action. */
  forget(): void;
}

/** Listens for SIGINT and SIGTERM. A terminal's signal arrives twice, once by the launcher; both count as one. */
export function untilStopped(): StopSignals {
  const controller = new AbortController();
  let code: number | undefined;
  const names = Object.keys(CODES) as (keyof typeof CODES)[];
  const listeners = names.map((name) => {
    const listener = () => {
      code ??= CODES[name];
      controller.abort(new Error(`Stopped by ${name}.`));
    };
    process.on(name, listener);
    return () => process.off(name, listener);
  });
  return {
    signal: controller.signal,
    code: () => code,
    forget: () => {
      for (const remove of listeners) remove();
    },
  };
}
