/**
 * The bytes of all bodies in flight, decompressed, under one bound, so that many large bodies at once are refused
 * instead of exhausting the memory. One client gets half of it at most: what it stalls on must not keep out the others.
 */
export class BodyBudget {
  readonly #bytesMax: number;
  readonly #clientBytesMax: number;
  readonly #byClient = new Map<string, number>();
  #bytes = 0;

  /** `bodyBytesMax` is the largest body there is: a client's half is never less than that. */
  constructor(bytesMax: number, bodyBytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#clientBytesMax = Math.max(bytesMax / 2, bodyBytesMax);
  }

  get bytesInUse(): number {
    return this.#bytes;
  }

  /** Takes bytes for a client if there is room; `false` otherwise. */
  take(clientId: string, bytes: number): boolean {
    const ofClient = (this.#byClient.get(clientId) ?? 0) + bytes;
    if (this.#bytes + bytes > this.#bytesMax || ofClient > this.#clientBytesMax) return false;
    this.#bytes += bytes;
    this.#byClient.set(clientId, ofClient);
    return true;
  }

  /** Gives back bytes that were taken. */
  release(clientId: string, bytes: number): void {
    this.#bytes -= bytes;
    const ofClient = (this.#byClient.get(clientId) ?? 0) - bytes;
    if (ofClient > 0) this.#byClient.set(clientId, ofClient);
    else this.#byClient.delete(clientId);
  }
}
