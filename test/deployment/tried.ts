/** What was tried, and how it went. */
export interface Tried {
  readonly what: string;
  readonly isRight: boolean;
  readonly said: string;
}

export type Note = (what: string, isRight: boolean, said: string) => void;

/** Collects and prints what is tried. */
export function notes(progress: (line: string) => void): { readonly tried: Tried[]; readonly note: Note } {
  const tried: Tried[] = [];
  const note = (what: string, isRight: boolean, said: string) => {
    tried.push({ what, isRight, said });
    progress(`${isRight ? "ok  " : "FAIL"}  ${what}: ${said}`);
  };
  return { tried, note };
}
