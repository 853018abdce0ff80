import type { ServerResponse } from "node:http";
import { ServiceError } from "../errors/registry.ts";
import { Gate, GateFull } from "../memory/gate.ts";

/** A page that is being sent keeps some ten megabytes until its last piece was taken. */
const AT_ONCE = 4;
/** More than a client's burst of requests. */
const WAITING_MAX = 200;

interface Door {
  readonly gate: Gate;
  users: number;
}

/**
 * Bounds the pages that are sent to one client at once by one thread: without it, whoever asks for long pages on hundreds of connections
 * and takes none of them has the memory of the node. The others of that client wait until one was taken or its connection is gone.
 */
export class OpenPages {
  readonly #doors = new Map<string, Door>();

  /** Resolves when it is a page's turn, which is over once its response is. Throws ServiceError (429) when too many wait. */
  enter(clientId: string, response: Pick<ServerResponse, "closed" | "once">): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const closed = new Promise<void>((resolve) => {
      if (response.closed) resolve();
      else response.once("close", resolve);
    });
    const door = this.#doors.get(clientId) ?? { gate: new Gate(AT_ONCE, WAITING_MAX), users: 0 };
    this.#doors.set(clientId, door);
    door.users += 1;
    door.gate
      .run(() => {
        turn.resolve();
        return closed;
      })
      .catch((error: unknown) => turn.reject(error instanceof GateFull ? tooMany() : error))
      .finally(() => {
        door.users -= 1;
        if (door.users === 0) this.#doors.delete(clientId);
      });
    return turn.promise;
  }
}

function tooMany(): ServiceError {
  return new ServiceError("bellhop.http.RateLimitExceeded", {
    message: "Too many answers of this client have not been taken yet: read them, then send this again.",
    retryAfterSeconds: 1,
  });
}
