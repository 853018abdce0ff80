import { enableCompileCache, flushCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Half of a start is stripping types and compiling: 1.3 s of CPU without the cache, 0.6 s with it, for every command and
// for every start after a crash. It lies beside the packages, where whoever could write to it could change the code as
// well; where it cannot be written, nothing is kept and nothing fails.
enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/bellhop", import.meta.url)));

const { runCommand } = await import("./cli/run-command.ts");
// Now, as a service that is killed writes nothing at its end. Once it is written this takes no time.
flushCompileCache();
process.exitCode = await runCommand(process.argv.slice(2), process.env);
// Whatever still holds the loop open (a client's keep-alive connection) must not keep a stopped process.
process.exit();
