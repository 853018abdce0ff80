import type { Queryable } from "../../platform/db/transaction.ts";
import { isoOfStored } from "./state-session.ts";

const READ = {
  name: "known-versions",
  text: "select resource, client_code, known_from::text from bellhop.retention_horizon where kind = 'versions'",
};

/**
 * From which source time on the versions of a client code are known, by resource letter and client code with a space between;
 * ISO 8601 with microseconds. Of what is not named all are. On a session of `openStateSession`.
 */
export async function readKnownVersions(on: Queryable): Promise<ReadonlyMap<string, string>> {
  const { rows } = await on.query<{ resource: string; client_code: string; known_from: string }>(READ);
  return new Map(
    rows.map(({ resource, client_code, known_from }) => [
      `${resource} ${client_code}`,
      isoOfStored(known_from),
    ]),
  );
}
