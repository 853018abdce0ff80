import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options }>
>["values"];

/**
 * The options of a developer's command, as `parseArgs` reads them. `--help` prints the usage and ends with 0; an option that
 * does not exist or lacks its value says so beside the usage, and ends with 2.
 */
export function readOptions<const Options extends ParseArgsOptionsConfig>(
  usage: string,
  options: Options,
  args = process.argv.slice(2),
): Values<Options> {
  if (args.includes("--help")) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
