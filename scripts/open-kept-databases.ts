/** `npm run test:look -- <directory>`: starts the server of a failed test run, and prints its address, until ^C. */
import { once } from "node:events";
import { startEmbeddedPostgres } from "../src/platform/db/embedded-postgres.ts";
import { createLogger } from "../src/platform/telemetry/log.ts";
import { addressUrl } from "../test/support/test-server.ts";

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error("Name the directory that the failed run printed.");
const server = await startEmbeddedPostgres(
  directory,
  "command",
  createLogger({ level: "info", pretty: true }),
);
console.log(addressUrl(server.address));
const untilInterrupted = setInterval(() => undefined, 60_000);
await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM"), once(process, "disconnect")]);
clearInterval(untilInterrupted);
await server.close();
process.exit();
