import { setTimeout as delay } from "node:timers/promises";
import type { Route } from "./balancer.ts";
import { type ClientCredentials, tokenOf } from "./new-token.ts";

const PAUSE_MS = 100;
const PROBLEMS_MAX = 20;

/** Partners' programs that take a token on one node and use it on the next, again and again: each is to be given and to be good. */
export class TokenAskers {
  taken = 0;
  readonly problems: string[] = [];
  readonly #route: () => Route | undefined;
  readonly #finished: Promise<unknown>;
  #client: ClientCredentials;
  #stopped = false;

  constructor(client: ClientCredentials, route: () => Route | undefined, askers: number) {
    this.#client = client;
    this.#route = route;
    this.#finished = Promise.all(Array.from({ length: askers }, () => this.#ask()));
  }

  get client(): ClientCredentials {
    return this.#client;
  }

  /** From now on they have another secret. */
  takeSecret(client_secret: string): void {
    this.#client = { ...this.#client, client_secret };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#finished;
  }

  async #ask(): Promise<void> {
    while (!this.#stopped) {
      await this.#takeAndUse().catch((error: unknown) => this.#note(String(error)));
      await delay(PAUSE_MS);
    }
  }

  async #takeAndUse(): Promise<void> {
    const [giver, user] = [this.#route(), this.#route()];
    if (giver === undefined || user === undefined) return this.#note("there was no node to ask");
    const token = await tokenOf(giver.address, this.#client);
    this.taken += 1;
    const answer = await fetch(`${user.address}/api/public/v1/requests?limit=1`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await answer.arrayBuffer();
    if (answer.status !== 200) this.#note(`a token that was just given was answered ${answer.status}`);
  }

  #note(problem: string): void {
    if (this.problems.length < PROBLEMS_MAX) this.problems.push(problem);
  }
}
