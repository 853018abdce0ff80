import { setTimeout as delay } from "node:timers/promises";

/** Where a request goes, and the end of that node as far as the balancer knows. */
export interface Route {
  readonly address: string;
  readonly down?: AbortSignal;
}

/** As balancers usually ask: a node is out after the first answer that is not 200, a refused connection, or several without an answer in time. */
const CHECK_MS = 250;
const CHECK_TIMEOUT_MS = 1_000;
const UNANSWERED_MAX = 3;

interface Node {
  readonly address: string;
  ready: boolean;
  /** Aborted when the node stops answering: what is on its way to it is then given up. */
  down: AbortController;
}

/**
 * A balancer in the client's own process: asks each node for `/readyz`, and routes to those in turn that are ready. A node
 * that says that it is not keeps what it has; one that does not answer loses it.
 */
export class Balancer {
  readonly #nodes: readonly Node[];
  readonly #checking: Promise<unknown>;
  #stopped = false;
  #next = 0;

  constructor(addresses: readonly string[]) {
    this.#nodes = addresses.map((address) => ({ address, ready: false, down: new AbortController() }));
    this.#checking = Promise.all(this.#nodes.map((node) => this.#check(node)));
  }

  /** The next ready node; undefined when there is none. */
  route(): Route | undefined {
    const ready = this.#nodes.filter((node) => node.ready);
    this.#next += 1;
    const node = ready[this.#next % Math.max(1, ready.length)];
    return node === undefined ? undefined : { address: node.address, down: node.down.signal };
  }

  isRouted(address: string): boolean {
    return this.#nodes.some((node) => node.address === address && node.ready);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#checking;
  }

  async #check(node: Node): Promise<void> {
    let unanswered = 0;
    while (!this.#stopped) {
      try {
        const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
        // A connection of its own each time, as a balancer's checks have.
        const headers = { connection: "close" };
        const response = await fetch(`${node.address}/readyz`, { signal, headers });
        await response.arrayBuffer();
        node.ready = response.status === 200;
        unanswered = 0;
      } catch (error) {
        unanswered += 1;
        // On a machine where everything is slow, one late answer is no death.
        if ((error as Error).name === "TimeoutError" && unanswered < UNANSWERED_MAX) continue;
        unanswered = 0;
        node.ready = false;
        node.down.abort();
        node.down = new AbortController();
      }
      await delay(CHECK_MS);
    }
  }
}
