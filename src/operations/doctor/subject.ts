import type { Config } from "../../config.ts";
import type { Database } from "../../platform/db/open-database.ts";

/** What is looked at where the database can be reached. Checks only read, and each statement's time is bounded. */
export interface DatabaseSubject {
  readonly config: Config;
  readonly database: Database;
}
