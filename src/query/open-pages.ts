import type { ServerResponse } from "node:http";
import { ClientSemaphores } from "../platform/http/client-semaphores.ts";

/** Each open page holds about ten megabytes until it is sent. */
const AT_ONCE = 4;

/** Limits the pages sent concurrently by one thread to one client: unread pages on hundreds of connections would exhaust memory. */
export class OpenPages {
  readonly #semaphores = new ClientSemaphores(AT_ONCE);

  /** Resolves when the page may be sent; its slot is freed when the response closes. Throws ServiceError (429) if too many pages wait. */
  enter(clientId: string, response: Pick<ServerResponse, "closed" | "once">): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const closed = new Promise<void>((resolve) => {
      if (response.closed) resolve();
      else response.once("close", resolve);
    });
    const send = () => {
      turn.resolve();
      return closed;
    };
    this.#semaphores.run(clientId, send).catch(turn.reject);
    return turn.promise;
  }
}
