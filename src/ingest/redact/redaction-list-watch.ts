import type { Queryable } from "../../platform/db/transaction.ts";
import { readPrivacyVersion } from "./privacy-version.ts";
import { loadRedactionList, type RedactionList } from "./redaction-list.ts";

/**
 * From here on the list is looked at again behind the back of whoever asks for it. A batch that was judged by an older one is
 * redacted by the applier, which knows every subject whose records have been redacted.
 */
const RENEW_AFTER_MS = 500;

/** A thread's copy of what is redacted on arrival: about half a second old under steady traffic, asked for only while it is used. */
export class RedactionListWatch {
  readonly #pool: Queryable;
  readonly #failed: (error: unknown) => void;
  #list: RedactionList | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<RedactionList> | undefined;

  constructor(pool: Queryable, failed: (error: unknown) => void) {
    this.#pool = pool;
    this.#failed = failed;
  }

  /** The list; a promise only where there is none yet, which rejects when the database cannot be asked. */
  current(): RedactionList | Promise<RedactionList> {
    if (this.#list === undefined) return this.#look();
    if (performance.now() - this.#lookedAtMs >= RENEW_AFTER_MS) this.#look().catch(this.#failed);
    return this.#list;
  }

  #look(): Promise<RedactionList> {
    this.#looking ??= this.#read().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #read(): Promise<RedactionList> {
    this.#lookedAtMs = performance.now();
    const known = this.#list;
    if (known !== undefined && (await readPrivacyVersion(this.#pool)) === known.version) return known;
    this.#list = await loadRedactionList(this.#pool);
    return this.#list;
  }
}
