import { flag, type Noun, verb } from "../../cli/command.ts";
import { failureText } from "../../cli/failure-text.ts";
import { printable } from "../../cli/output.ts";
import { countText } from "../../platform/runtime/amounts.ts";
import { examine } from "../doctor/examine.ts";
import { type Finding, type Severity, worstOf } from "../doctor/finding.ts";

const EXIT_CODES: Readonly<Record<Severity, number>> = { ok: 0, warning: 1, error: 2 };

function findingLines({ id, severity, says, means, advice }: Finding): string[] {
  const rest = [means ?? [], advice === undefined ? [] : `To do: ${advice}`].flat();
  return [`${severity.padEnd(7)}  ${id}: ${says}`, ...rest.map((line) => `         ${line}`)].map(printable);
}

/** Ordered by severity, errors first. */
function reportLines(findings: readonly Finding[], isVerbose: boolean): string[] {
  const of = (severity: Severity) => findings.filter((finding) => finding.severity === severity);
  const lines = [...of("error"), ...of("warning"), ...(isVerbose ? of("ok") : [])].flatMap(findingLines);
  return [
    ...lines,
    ...(lines.length > 0 ? [""] : []),
    `${countText(findings.length, "finding")}: ${of("ok").length} ok, ${countText(of("warning").length, "warning")}, ${countText(of("error").length, "error")}.`,
  ];
}

const own = verb({
  summary: "check the installation and say what to fix",
  details:
    "Checks settings, database, disk, clock, partitions, keys, nodes, backlog and quarantine. It changes nothing and may run beside the service.",
  options: { verbose: flag("also list passed checks, which are otherwise only counted") },
  examples: ["doctor", "doctor --verbose", "doctor --json"],
  json: '{"severity", "findings": [{"id", "severity", "says", "means", "advice"}]}',
  exitCodes: "0 ok, 1 something should be changed, 2 something fails or is at risk.",
  run: async ({ verbose }, { output, progress, session }) => {
    progress.show("checking the installation");
    const findings = await examine({
      readConfig: () => session.config(),
      explain: (error) => failureText(error, session.environment) ?? String(error),
    });
    const severity = worstOf(findings);
    output.result({ severity, findings }, reportLines(findings, verbose));
    return EXIT_CODES[severity];
  },
});

export const command: Noun = { own };
