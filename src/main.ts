import { useCompileCache } from "./compile-cache.ts";

useCompileCache();
const { runCommand } = await import("./cli.ts");
const { exitOnBrokenPipe } = await import("./cli/output.ts");
if (process.argv[2] !== "serve") exitOnBrokenPipe();
process.exitCode = await runCommand(process.argv.slice(2), process.env);
// Open connections, such as keep-alive ones, must not keep a stopped process running.
process.exit();
