import { Applier } from "../../src/apply/applier.ts";
import { PropertyDirectory } from "../../src/apply/backlog.ts";
import { applySessions } from "../../src/apply/postgres-apply-session.ts";
import { type Appliers, ServerAppliers } from "../../src/apply/server-appliers.ts";
import type { TestDatabase } from "../support/database.ts";

/** Whatever turns the log into state: the service's appliers, or a faulty one that the harness must find out. */
export interface ApplyEngine {
  wake(buckets: Iterable<number>): void;
  /** Another applier takes over from one that stops, in the middle of the work. */
  changeHands(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts an engine on a database. `failed` hears of every failure. */
export type StartEngine = (database: TestDatabase, failed: (error: unknown) => void) => ApplyEngine;

/**
 * Several appliers of the service, which share the buckets out among them. `changeHands` starts one more and stops one,
 * whose buckets fall to the others.
 */
export function startAppliers(count: number): StartEngine {
  return (database, failed) => {
    const properties = new PropertyDirectory(database.pool);
    const sessions = { clientConfig: database.clientConfig, pool: database.pool, properties };
    const start = (owner: string): Appliers => {
      const applier = new ServerAppliers({
        clientConfig: database.clientConfig,
        owner,
        appliersAt: (server) =>
          new Applier({
            openSession: applySessions(server === undefined ? sessions : { ...sessions, server }),
            owner,
            pollMs: 25,
            events: { failed },
          }),
        failed,
      });
      applier.start();
      return applier;
    };
    const appliers = Array.from({ length: count }, (_, at) => start(`any-order/${at}`));
    return {
      wake: (buckets) => {
        for (const applier of appliers) applier.wake(buckets);
      },
      async changeHands() {
        appliers.push(start("any-order/standby"));
        await appliers.shift()?.stop();
      },
      async stop() {
        await Promise.all(appliers.map((applier) => applier.stop()));
      },
    };
  };
}
