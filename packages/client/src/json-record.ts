/**
 * A record that is JSON text already, as bytes or as a string: it goes out exactly as it is, so that no number in it passes through
 * binary floating point. `readRecords` gives these.
 */
export class JsonRecord {
  readonly json: string | Uint8Array;

  constructor(json: string | Uint8Array) {
    this.json = json;
  }

  /** The record as JavaScript has it. Throws SyntaxError where it is no JSON. */
  parse(): unknown {
    return JSON.parse(typeof this.json === "string" ? this.json : new TextDecoder().decode(this.json));
  }

  toString(): string {
    return typeof this.json === "string" ? this.json : new TextDecoder().decode(this.json);
  }
}
