import type { ServerResponse } from "node:http";
import { ClientTurns } from "./client-turns.ts";

/** A page that is being sent keeps some ten megabytes until its last piece was taken. */
const AT_ONCE = 4;

/**
 * Bounds the pages that are sent to one client at once by one thread: without it, whoever asks for long pages on hundreds of connections
 * and takes none of them has the memory of the node. The others of that client wait until one was taken or its connection is gone.
 */
export class OpenPages {
  readonly #turns = new ClientTurns(AT_ONCE);

  /** Resolves when it is a page's turn, which is over once its response is. Throws ServiceError (429) when too many wait. */
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
    this.#turns.run(clientId, send).catch(turn.reject);
    return turn.promise;
  }
}
