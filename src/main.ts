import { useCompileCache } from "./compile-cache.ts";

useCompileCache();
const { runCommand } = await import("./cli.ts");
const { exitOnFailedOutput } = await import("./cli/output.ts");
const isService = process.argv[2] === "serve";
if (!isService) exitOnFailedOutput();
process.exitCode = await runCommand(process.argv.slice(2), process.env);
// What a pipe has not taken yet would be lost, and a failed write is reported after its callback. A service does not wait for a reader.
if (!isService) await new Promise((resolve) => process.stdout.write("", () => setImmediate(resolve)));
// Open connections, such as keep-alive ones, must not keep a stopped process running.
process.exit();
