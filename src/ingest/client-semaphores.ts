import { ServiceError } from "../platform/errors/registry.ts";
import { Semaphore, SemaphoreFull } from "../platform/runtime/semaphore.ts";
import { currentWaits } from "../platform/telemetry/log.ts";

/** Above a client's burst of requests. */
const WAITING_MAX = 200;

interface Slot {
  readonly semaphore: Semaphore;
  users: number;
}

/** Limits concurrent work per client, so that one client cannot occupy all memory or database connections of a thread. */
export class ClientSemaphores {
  readonly #concurrency: number;
  readonly #slots = new Map<string, Slot>();

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** As `Semaphore.run`, per client. Throws ServiceError (429) if too much work of the client is waiting. */
  async run<Result>(clientId: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const slot = this.#slots.get(clientId) ?? {
      semaphore: new Semaphore(this.#concurrency, WAITING_MAX),
      users: 0,
    };
    this.#slots.set(clientId, slot);
    slot.users += 1;
    const [waits, askedAt] = [currentWaits(), performance.now()];
    try {
      return await slot.semaphore.run(
        () => {
          if (waits !== undefined) waits.database += performance.now() - askedAt;
          return work();
        },
        "",
        signal,
      );
    } catch (error) {
      throw error instanceof SemaphoreFull ? tooMany() : error;
    } finally {
      slot.users -= 1;
      if (slot.users === 0) this.#slots.delete(clientId);
    }
  }
}

function tooMany(): ServiceError {
  return new ServiceError("bellhop.http.RateLimitExceeded", {
    message: "Too many requests of this client are waiting. Retry after their responses.",
    retryAfterSeconds: 1,
  });
}
