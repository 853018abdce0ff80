import type { JudgedStep, Report } from "../report.ts";

const RESULT_WORDS = { pass: "passed", fail: "FAILED", "not-yet": "not yet" } as const;

/** What comes from partners may hold anything: nothing of it is to be read as Markdown or HTML. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, " ").replace(/[\\`*_{}[\]<>()#|~&]/g, "\\$&");
}

function stepLines({ title, step, result, reason, requestIds }: JudgedStep): string[] {
  const requests =
    requestIds.length === 0 ? [] : ["", `Requests: ${requestIds.map((id) => `\`${id}\``).join(", ")}`];
  return [
    `## ${plain(title)}: ${RESULT_WORDS[result]}`,
    "",
    `\`${step}\`: ${plain(reason)}`,
    ...requests,
    "",
  ];
}

/** A report in Markdown. */
export function markdownOf(report: Report): string {
  const { observed, evidence, property } = report;
  const compressed = Object.entries(observed.compressed).map(([encoding, count]) => `${count} ${encoding}`);
  return [
    `# Certification ${report.certificationId}: ${report.verdict}`,
    "",
    `- client: \`${report.clientId}\`, property of the examples: ${plain(`${property.clientCode}/${property.propertyCode}`)}`,
    `- judged by what was seen from ${evidence.from} to ${evidence.until ?? "now: nothing yet"}${evidence.isWhole ? "" : " (the newest of it)"}`,
    `- evidence: \`${evidence.hash}\``,
    `- ${observed.batches} batches, ${observed.records} records, ${observed.tokens} tokens, ${observed.rateLimited} answers 429, ${observed.refused} refused batches, ${observed.lenient} lenient, ${observed.keyed} with a key, compressed: ${compressed.join(", ") || "none"}`,
    "",
    ...report.steps.flatMap(stepLines),
  ].join("\n");
}
