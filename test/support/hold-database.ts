/**
 * A process that opens the database like a service or command, prints `ready` with its address, runs each line of
 * standard input as SQL, and closes on SIGTERM. Tests kill it. Usage: hold-database.ts <DATA_DIR> <service|command>
 */
import { createInterface } from "node:readline";
import { openDatabase } from "../../src/platform/db/open-database.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";

const [dataDir = "", role = "service"] = process.argv.slice(2);
const say = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);

try {
  const database = await openDatabase(
    { dataDir, databaseUrl: undefined, allowUnsafeDurability: false },
    createLogger({ level: "info", pretty: false, fileDescriptor: 2 }),
    { role: role as "service" | "command" },
  );
  const close = async () => {
    await database.close();
    process.exit(0);
  };
  process.once("SIGTERM", () => void close());
  // As the service during its drain: the database is still needed after the terminal's SIGINT.
  process.on("SIGINT", () => say({ interrupted: true }));
  createInterface({ input: process.stdin }).on("line", (sql) => {
    database.pool.query(sql).then(
      (result) => say({ rows: result.rows }),
      (error: Error) => say({ error: error.message }),
    );
  });
  say({ ready: true, host: database.clientConfig.host, dataDirectory: database.dataDirectory });
} catch (error) {
  say({ refused: (error as Error).message });
  process.exit(1);
}
