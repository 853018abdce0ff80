import type { CertificationStep } from "../console/api-types.ts";
import { escapeHtml } from "../platform/runtime/escape-html.ts";
import type { Report } from "./report.ts";

/** Escaped markup. Only `html` and `joined` create it, so text cannot become markup by mistake. */
class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Content = Html | string | false | readonly Html[];

function markupOf(content: Content): string {
  if (content === false) return "";
  if (content instanceof Html) return content.markup;
  return typeof content === "string" ? escapeHtml(content) : joined(content, "").markup;
}

/** Markup with interpolated values: text is escaped, markup is not, false is omitted. */
function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Html(String.raw({ raw: parts }, ...values.map(markupOf)));
}

function joined(pieces: readonly Html[], between: string): Html {
  return new Html(pieces.map((piece) => piece.markup).join(escapeHtml(between)));
}

const HTML_RESULTS = { pass: "passed", fail: "failed", "not-yet": "not yet" } as const;

const STYLE =
  new Html(`body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:1.5rem 0 .25rem}dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}
dt{color:#55555f}dd{margin:0;overflow-wrap:anywhere}.result{font-weight:600}.pass .result{color:#0b6b2e}.fail .result{color:#a4161a}.not-yet .result{color:#6b5900}
code{font-size:.85em}.requests{color:#55555f;font-size:.85rem;overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){body{color:#e8e8ec;background:#16161a}dt,.requests{color:#a9a9b4}.pass .result{color:#6fd08c}.fail .result{color:#ff8a8a}.not-yet .result{color:#e2c65a}}`);

function stepHtml({ step, title, result, reason, requestIds }: CertificationStep): Html {
  const ids = joined(
    requestIds.map((id) => html`<code>${id}</code>`),
    ", ",
  );
  const requests = requestIds.length > 0 && html`<p class="requests">Requests: ${ids}</p>`;
  return html`<section class="${result}" id="${step}"><h2>${title}: <span class="result">${HTML_RESULTS[result]}</span></h2><p>${reason}</p>${requests}</section>`;
}

/** A report as a self-contained HTML page, which can be sent as a file. */
export function htmlOf(report: Report): string {
  const { observed, evidence, property } = report;
  const facts: readonly (readonly [string, string])[] = [
    ["client", report.clientId],
    ["property of the examples", `${property.clientCode}/${property.propertyCode}`],
    ["opened", report.openedAt],
    ["judged from", evidence.from],
    ["until", `${evidence.until ?? "nothing has been seen"}${evidence.isWhole ? "" : " (the newest ones)"}`],
    ["evidence", evidence.hash],
    [
      "seen",
      `${observed.batches} batches, ${observed.records} records, ${observed.tokens} tokens, ${observed.rateLimited} 429 responses, ${observed.refused} refused batches`,
    ],
  ];
  const title = `Certification ${report.certificationId}: ${report.verdict}`;
  const steps = joined(report.steps.map(stepHtml), "\n");
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title}</title><style>${STYLE}</style></head>
<body><main><h1>${title}</h1><dl>${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
${steps}
</main></body></html>
`.markup;
}

const MARKDOWN_RESULTS = { pass: "passed", fail: "FAILED", "not-yet": "not yet" } as const;

/** A partner's text with Markdown and HTML escaped. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, " ").replace(/[\\`*_{}[\]<>()#|~&]/g, "\\$&");
}

function stepLines({ title, step, result, reason, requestIds }: CertificationStep): string[] {
  const requests =
    requestIds.length === 0 ? [] : ["", `Requests: ${requestIds.map((id) => `\`${id}\``).join(", ")}`];
  return [
    `## ${plain(title)}: ${MARKDOWN_RESULTS[result]}`,
    "",
    `\`${step}\`: ${plain(reason)}`,
    ...requests,
    "",
  ];
}

export function markdownOf(report: Report): string {
  const { observed, evidence, property } = report;
  const compressed = Object.entries(observed.compressed).map(([encoding, count]) => `${count} ${encoding}`);
  return [
    `# Certification ${report.certificationId}: ${report.verdict}`,
    "",
    `- client: \`${report.clientId}\`, property of the examples: ${plain(`${property.clientCode}/${property.propertyCode}`)}`,
    `- based on requests from ${evidence.from} to ${evidence.until ?? "now: nothing yet"}${evidence.isWhole ? "" : " (the newest ones)"}`,
    `- evidence: \`${evidence.hash}\``,
    `- ${observed.batches} batches, ${observed.records} records, ${observed.tokens} tokens, ${observed.rateLimited} 429 responses, ${observed.refused} refused batches, ${observed.lenient} lenient, ${observed.keyed} with a key, compressed: ${compressed.join(", ") || "none"}`,
    "",
    ...report.steps.flatMap(stepLines),
  ].join("\n");
}
