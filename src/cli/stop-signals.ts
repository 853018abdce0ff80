/** The exit codes that a shell expects of whom a signal ended. */
const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/** What ends a command in an orderly way. */
export interface StopSignals {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** The exit code that says which it was; undefined while there was none. */
  code(): number | undefined;
  /** Signals end the process again. */
  forget(): void;
}

/** Listens for SIGINT and SIGTERM. A terminal's signal comes twice, once by the launcher: both are one. */
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
