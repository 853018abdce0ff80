import type pg from "pg";
import { findPayloadKeysBy } from "./open-layout.ts";
import { type KeySealer, payloadKeyFinder, readPayloadKey } from "./payload-keys.ts";
import type { PayloadKey } from "./seal-body.ts";

/** A key that another node made is taken up so late; until then parts are sealed with the one before it. */
const RENEW_MS = 5_000;

/**
 * The data key that this thread seals parts with, followed as it changes. Undefined while there is none: ENCRYPT_PAYLOADS is
 * off, or a node is present that could not open it (keep-keys.ts makes the first one).
 */
export class PayloadSealing {
  readonly #pool: pg.Pool;
  readonly #sealer: KeySealer;
  #key: PayloadKey | undefined;
  #timer: NodeJS.Timeout | undefined;

  private constructor(pool: pg.Pool, sealer: KeySealer) {
    this.#pool = pool;
    this.#sealer = sealer;
  }

  /** Reads the key that is current now, and follows it from then on. Throws where it does not open. */
  static async follow(
    pool: pg.Pool,
    sealer: KeySealer,
    failed: (error: unknown) => void,
  ): Promise<PayloadSealing> {
    const sealing = new PayloadSealing(pool, sealer);
    await sealing.#renew();
    sealing.#timer = setInterval(() => void sealing.#renew().catch(failed), RENEW_MS).unref();
    return sealing;
  }

  get key(): PayloadKey | undefined {
    return this.#key;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #renew(): Promise<void> {
    this.#key = await readPayloadKey(this.#pool, this.#sealer);
  }
}

/** Has the records of sealed parts open on this thread; until the answered function is called. */
export function openSealedPayloads(pool: pg.Pool, sealer: KeySealer): () => void {
  return findPayloadKeysBy(payloadKeyFinder(pool, sealer));
}
