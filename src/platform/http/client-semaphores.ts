import { ServiceError } from "../errors/registry.ts";
import { Semaphore, SemaphoreFull } from "../runtime/semaphore.ts";
import { currentWaits } from "../telemetry/log.ts";

/** More than the burst of a client's requests. */
const WAITING_MAX = 200;

/** A semaphore per client, so that one client cannot occupy all memory or database connections of a thread. */
export class ClientSemaphores {
  readonly #concurrency: number;
  readonly #semaphores = new Map<string, { readonly semaphore: Semaphore; users: number }>();

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** As `Semaphore.run`. Throws ServiceError (429) if too much work of the client is waiting. */
  async run<Result>(clientId: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const created = () => ({ semaphore: new Semaphore(this.#concurrency, WAITING_MAX), users: 0 });
    const entry = this.#semaphores.get(clientId) ?? created();
    this.#semaphores.set(clientId, entry);
    entry.users += 1;
    const [waits, enteredAt] = [currentWaits(), performance.now()];
    const timed = () => {
      if (waits !== undefined) waits.database += performance.now() - enteredAt;
      return work();
    };
    try {
      return await entry.semaphore.run(timed, "", signal);
    } catch (error) {
      if (!(error instanceof SemaphoreFull)) throw error;
      throw new ServiceError("bellhop.http.RateLimitExceeded", {
        message: "Too many requests of this client are waiting. Retry after their responses.",
        retryAfterSeconds: 1,
      });
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#semaphores.delete(clientId);
    }
  }
}
