import { ServiceError } from "../platform/errors/registry.ts";
import { Semaphore, SemaphoreFull } from "../platform/runtime/semaphore.ts";
import { currentWaits } from "../platform/telemetry/log.ts";

/** More than a client's burst of requests. */
const WAITING_MAX = 200;

interface Door {
  readonly gate: Semaphore;
  users: number;
}

/**
 * Lets so many things of each client be done at once, and has the others of that client wait: what costs the memory or the
 * connections of a thread, which one client is not to take from all others.
 */
export class ClientTurns {
  readonly #atOnce: number;
  readonly #doors = new Map<string, Door>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** As `Semaphore.run`, among the work of one client. Throws ServiceError (429) when too many wait. */
  async run<Result>(clientId: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const door = this.#doors.get(clientId) ?? { gate: new Semaphore(this.#atOnce, WAITING_MAX), users: 0 };
    this.#doors.set(clientId, door);
    door.users += 1;
    const [waits, askedAt] = [currentWaits(), performance.now()];
    try {
      return await door.gate.run(
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
      door.users -= 1;
      if (door.users === 0) this.#doors.delete(clientId);
    }
  }
}

function tooMany(): ServiceError {
  return new ServiceError("bellhop.http.RateLimitExceeded", {
    message: "Too many requests of this client are waiting. Retry after their responses.",
    retryAfterSeconds: 1,
  });
}
