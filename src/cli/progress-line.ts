const MIB = 1_048_576;

/** Bytes for people. */
export function sizeText(bytes: number): string {
  return bytes < MIB ? `${Math.ceil(bytes / 1024)} kB` : `${Math.round(bytes / MIB)} MB`;
}

/** One line of a terminal on which steps take each other's place; nothing where standard error is none, or nobody wants to see them. */
export function stepLine(isSilent: boolean): { show(step: string): void; end(): void } {
  const isShown = !isSilent && process.stderr.isTTY === true;
  let shown = 0;
  return {
    show(step) {
      if (!isShown) return;
      process.stderr.write(`\r${step.padEnd(shown)}`);
      shown = step.length;
    },
    end() {
      if (isShown && shown > 0) process.stderr.write(`\r${" ".repeat(shown)}\r`);
    },
  };
}
