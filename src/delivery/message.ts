import { escapeHtml } from "../platform/runtime/escape-html.ts";

/** A file of a message. */
export interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly content: Buffer;
}

/** A figure with its name, above the tables. */
export interface Headline {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
}

export interface MessageTable {
  readonly title: string;
  readonly columns: readonly {
    readonly head: string;
    readonly isNumber?: boolean;
    readonly isLine?: boolean;
  }[];
  readonly rows: readonly (readonly string[])[];
  /** The first rows are sums. */
  readonly totals?: number;
}

/** What a message says, before it is HTML and plain text. */
export interface MessageContent {
  readonly subject: string;
  readonly title: string;
  readonly lead: readonly string[];
  readonly headlines?: readonly Headline[];
  readonly tables: readonly MessageTable[];
  /** Why the reader gets it and when it stops. */
  readonly notes: readonly string[];
  /** The page of the console. */
  readonly link: { readonly text: string; readonly address: string };
  readonly attachments?: readonly Attachment[];
  /** Whether it cannot be composed again, because its figures are those of an instant. */
  readonly isAsOf?: true;
}

/** Shown beside the content of a sent message; undefined in the console. */
export type Unsubscribe = string | undefined;

const SUBJECT_CHARACTERS_MAX = 150;

/** One line for a header: codes and names may contain control characters. */
export const subjectOf = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .toWellFormed()
    .slice(0, SUBJECT_CHARACTERS_MAX);

/** No colours of text or background: the reader's program chooses both, so the message is legible in light and dark. */
const LINE = "1px solid #8885";
const STYLES = {
  body: "margin:0;padding:24px 16px;font:15px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif",
  frame: "max-width:820px;margin:0 auto",
  title: "margin:0 0 4px;font-size:22px;line-height:1.3",
  lead: "margin:0 0 4px",
  headlines: "margin:16px 0 8px",
  headline:
    "display:inline-block;vertical-align:top;box-sizing:border-box;width:166px;max-width:100%;margin:0 12px 12px 0;padding:2px 0 0 12px;border-left:3px solid #4f7cff",
  name: "font-size:12px",
  value: "font-size:20px;font-weight:600;font-variant-numeric:tabular-nums",
  heading: "margin:24px 0 6px;font-size:16px",
  table: "border-collapse:collapse;width:100%;font-size:13px",
  cell: `padding:5px 6px;border-bottom:${LINE};text-align:left;vertical-align:top`,
  number: `padding:5px 6px;border-bottom:${LINE};text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums`,
  button:
    "display:inline-block;margin:20px 0 4px;padding:9px 16px;border-radius:6px;background:#2f5fe0;color:#ffffff;text-decoration:none;font-weight:600",
  notes: `margin-top:24px;padding-top:12px;border-top:${LINE};font-size:12px`,
} as const;

function headlinesAsHtml(headlines: readonly Headline[]): string {
  if (headlines.length === 0) return "";
  const boxes = headlines.map(
    ({ name, value, note = "" }) =>
      `<div style="${STYLES.headline}"><div style="${STYLES.name}">${escapeHtml(name)}</div><div style="${STYLES.value}">${escapeHtml(value)}</div><div style="${STYLES.name}">${escapeHtml(note)}&nbsp;</div></div>`,
  );
  return `<div style="${STYLES.headlines}">${boxes.join("\n")}</div>`;
}

function tableAsHtml({ title, columns, rows, totals = 0 }: MessageTable): string {
  const style = (place: number) => {
    const { isNumber, isLine } = columns[place] ?? {};
    return isNumber ? STYLES.number : isLine ? `${STYLES.cell};white-space:nowrap` : STYLES.cell;
  };
  const head = columns
    .map(
      ({ head: name }, place) =>
        `<th scope="col" style="${style(place).replace("white-space:nowrap", "vertical-align:bottom")}">${escapeHtml(name)}</th>`,
    )
    .join("");
  const body = rows.map((row, at) => {
    const weight = at < totals ? ";font-weight:600" : "";
    const cells = row.map((cell, place) => `<td style="${style(place)}${weight}">${escapeHtml(cell)}</td>`);
    return `<tr>${cells.join("")}</tr>`;
  });
  return `<h2 style="${STYLES.heading}">${escapeHtml(title)}</h2>
<div style="overflow-x:auto"><table style="${STYLES.table}"><thead><tr>${head}</tr></thead><tbody>
${body.join("\n")}
</tbody></table></div>`;
}

/** The message as HTML with inline styles, without images, scripts or anything to load. */
export function asHtml(content: MessageContent, unsubscribe: Unsubscribe): string {
  const { title, lead, headlines = [], tables, notes, link } = content;
  const paragraphs = lead.map((line) => `<p style="${STYLES.lead}">${escapeHtml(line)}</p>`);
  const ending =
    unsubscribe === undefined
      ? ""
      : ` <a href="${escapeHtml(unsubscribe)}">Unsubscribe</a>, without a login.`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><style>:root{color-scheme:light dark}</style><title>${escapeHtml(content.subject)}</title></head>
<body style="${STYLES.body}">
<div style="${STYLES.frame}">
<h1 style="${STYLES.title}">${escapeHtml(title)}</h1>
${paragraphs.join("\n")}
${headlinesAsHtml(headlines)}
${tables.map(tableAsHtml).join("\n")}
<p style="margin:0"><a href="${escapeHtml(link.address)}" style="${STYLES.button}">${escapeHtml(link.text)}</a></p>
<div style="${STYLES.notes}">${notes.map((note) => escapeHtml(note)).join("<br>")}${ending}</div>
</div>
</body>
</html>
`;
}

function tableAsText({ title, columns, rows }: MessageTable): string[] {
  const lines = [columns.map(({ head }) => head), ...rows];
  const widths = columns.map((_, place) => Math.max(...lines.map((line) => [...(line[place] ?? "")].length)));
  const pad = (cell: string, place: number) => {
    const space = " ".repeat(Math.max(0, (widths[place] ?? 0) - [...cell].length));
    return columns[place]?.isNumber === true ? space + cell : cell + space;
  };
  return ["", title, ...lines.map((line) => line.map(pad).join("  ").trimEnd())];
}

/** The message as plain text. */
export function asText(content: MessageContent, unsubscribe: Unsubscribe): string {
  const { title, lead, headlines = [], tables, notes, link } = content;
  return [
    title,
    ...lead,
    "",
    ...headlines.map(({ name, value, note }) => `${name}: ${value}${note === undefined ? "" : ` (${note})`}`),
    ...tables.flatMap(tableAsText),
    "",
    `${link.text}: ${link.address}`,
    "",
    "-- ",
    ...notes,
    ...(unsubscribe === undefined ? [] : [`Unsubscribe, without a login: ${unsubscribe}`]),
    "",
  ].join("\n");
}
