import { parseArgs } from "node:util";
import { readConfig } from "../config.ts";
import { examine } from "../doctor/examine.ts";
import { type Finding, type Health, worstOf } from "../doctor/finding.ts";
import { operatorMessage } from "./operator-error.ts";
import { printable } from "./text-output.ts";

const HELP = `bellhop doctor [--verbose] [--json]

Looks at this installation (settings, database, disk, clock, partitions, keys, nodes, what waits and what is held aside), and
says of each what is so, what it means and what to do. It changes nothing, and may be run beside the service at any time.
Exit code: 0 all is well, 1 something should be changed, 2 something does not work or is at risk.

  --verbose  what is well, too; else it is counted only
  --json     one JSON object on standard output
`;

const EXIT_CODES: Readonly<Record<Health, number>> = { ok: 0, warn: 1, fail: 2 };

function linesOf({ id, health, says, means, advice }: Finding): string[] {
  const rest = [means === undefined ? [] : [means], advice === undefined ? [] : [`To do: ${advice}`]].flat();
  return [`${health.padEnd(4)}  ${id}: ${says}`, ...rest.map((line) => `      ${line}`)].map(printable);
}

/** The worst first, what is well last. */
function textOf(findings: readonly Finding[], isVerbose: boolean): string {
  const of = (health: Health) => findings.filter((finding) => finding.health === health);
  const shown = [...of("fail"), ...of("warn"), ...(isVerbose ? of("ok") : [])];
  const counts = (["ok", "warn", "fail"] as const).map((health) => `${of(health).length} ${health}`);
  const lines = shown.flatMap(linesOf);
  return `${[...lines, ...(lines.length > 0 ? [""] : []), `${findings.length} findings: ${counts.join(", ")}.`].join("\n")}\n`;
}

/** `bellhop doctor`. Answers the exit code: 0, 1 or 2 as the worst finding is. */
export async function doctorCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      verbose: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const findings = await examine({
    readConfig: () => readConfig(environment),
    explain: (error) => operatorMessage(error, environment) ?? String(error),
  });
  const health = worstOf(findings);
  process.stdout.write(
    values.json ? `${JSON.stringify({ health, findings })}\n` : textOf(findings, values.verbose),
  );
  return EXIT_CODES[health];
}
