import { useCompileCache } from "./compile-cache.ts";

useCompileCache();
const { runCommand } = await import("./cli.ts");
const { exitOnFailedOutput } = await import("./cli/output.ts");
if (process.argv[2] !== "serve") exitOnFailedOutput();
process.exitCode = await runCommand(process.argv.slice(2), process.env);
// A failed write is reported after the code that wrote.
await new Promise(setImmediate);
// Open connections, such as keep-alive ones, must not keep a stopped process running.
process.exit();
