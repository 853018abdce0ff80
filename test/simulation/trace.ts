/** The events of a run as a hash, which is equal for equal seeds, and as lines if requested. */
export class Trace {
  readonly lines: string[] | undefined;
  #hash = 0x811c9dc5;
  #now: () => number;

  constructor(isKept: boolean, now: () => number) {
    this.lines = isKept ? [] : undefined;
    this.#now = now;
  }

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0");
  }

  /** `who` did or heard `what`; `detail` is what it was about. */
  add(who: string, what: string, detail: string | number = ""): void {
    this.#mix(Math.round(this.#now() * 1_000));
    this.#mixText(who);
    this.#mixText(what);
    if (typeof detail === "number") this.#mix(detail);
    else this.#mixText(detail);
    this.lines?.push(
      `${(this.#now() / 1_000).toFixed(6).padStart(11)} s  ${who.padEnd(14)} ${what} ${detail}`,
    );
  }

  #mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ value, 0x01000193);
  }

  #mixText(text: string): void {
    for (let at = 0; at < text.length; at += 1) this.#mix(text.charCodeAt(at));
  }
}
