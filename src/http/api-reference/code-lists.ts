import { OAUTH_ERRORS } from "../../auth/oauth-error.ts";
import { KNOWN_LABELS } from "../../contract/labels.ts";
import { VIOLATION_CODES } from "../../contract/violation.ts";
import { WARNING_CODES } from "../../contract/warning.ts";
import { ERRORS } from "../../errors/registry.ts";
import { anchorOf, type Html, html } from "../../markup/html.ts";
import { ANYWHERE } from "../openapi/errors.ts";
import { type Answer, type OpenApiDocument, resolved, type Schema } from "../openapi/model.ts";
import { codeBlock, highlightedJson } from "../page/code-block.ts";
import { headingAnchor, renderInline } from "../page/inline-markdown.ts";
import { fieldsOfComponent } from "./field-list.ts";

/** A chapter of the page that is no chapter of the document. */
export interface Chapter {
  readonly title: string;
  readonly body: Html;
}

function table(caption: string, heads: readonly string[], rows: readonly (readonly Html[])[]): Html {
  const head = heads.map((text) => html`<th scope="col">${text}</th>`);
  const body = rows.map(
    (row) => html`<tr>${row.map((cell, at) => html`<td data-label="${heads[at]}">${cell}</td>`)}</tr>`,
  );
  return html`<table><caption>${caption}</caption><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

function codeCell(code: string): Html {
  return html`<code id="${anchorOf(code)}">${code}</code>`;
}

function codeTable(caption: string, codes: Readonly<Record<string, string>>): Html {
  const rows = Object.entries(codes).map(([code, meaning]) => [codeCell(code), html`${meaning}`]);
  return table(caption, ["Code", "Meaning"], rows);
}

function errorTable(): Html {
  const rows = Object.entries(ERRORS)
    .sort(([, left], [, right]) => left.status - right.status)
    .map(([code, { status, text }]) => [
      html`<span class="status s${String(status)[0] as string}">${status}</span>`,
      codeCell(code),
      html`${text} <a href="errors#${headingAnchor(code)}">What to do</a>`,
    ]);
  return table("Every error code", ["Status", "Code", "Message, unless there is a better one"], rows);
}

function oauthTable(): Html {
  const rows = Object.entries(OAUTH_ERRORS).map(([code, status]) => [
    html`<span class="status s4">${status}</span>`,
    html`<code>${code}</code>`,
  ]);
  return table("The errors of the OAuth endpoints, and their usual status", ["Status", "error"], rows);
}

function errorExample(document: OpenApiDocument): Html {
  const examples =
    document.components.responses["InvalidBatch"]?.content?.["application/json"]?.examples ?? {};
  return codeBlock(
    "400, application/json",
    highlightedJson(examples["bellhop.contract.InvalidRecords"]?.value),
  );
}

/** What every address can answer, so that no operation needs to say it again. */
function anyAddress(document: OpenApiDocument): Html {
  const rows = Object.entries(ANYWHERE).map(([status, reference]) => {
    const { description } = resolved(document, reference) as Answer;
    return html`<li><p><span class="status s4">${status}</span> ${renderInline(description)}</p></li>`;
  });
  return html`<ul class="answers">${rows}</ul>`;
}

function errorChapter(document: OpenApiDocument): Chapter {
  const { description } = document.components.schemas["Error"] as Schema;
  return {
    title: "Errors",
    body: html`<p>${description} 401 and 403 have no body: <code>WWW-Authenticate</code> says why. The codes are stable, the messages are not; more codes may come, each with the HTTP status that says what to do.</p>
<h3 id="error-object">The error object</h3>
<div class="sides"><div class="text">${fieldsOfComponent(document, "Error", "answer")}</div><div class="examples">${errorExample(document)}</div></div>
<h3 id="any-address">At any address</h3>${anyAddress(document)}
<h3 id="error-codes">Error codes</h3>${errorTable()}
<h3 id="oauth-errors">OAuth errors</h3><p>The token endpoint and its neighbours answer <code>{"error", "error_description"}</code> (RFC 6749 section 5.2).</p>${oauthTable()}
<h3 id="violation-codes">Violations: why a record is refused</h3>${codeTable("Every violation code", VIOLATION_CODES)}`,
  };
}

function labelTable(resource: keyof typeof KNOWN_LABELS, caption: string): Html {
  const rows = KNOWN_LABELS[resource].map(({ canonical, deducts, spellings }) => [
    html`<code>${canonical}</code>`,
    html`${deducts ? "yes" : "no"}`,
    html`${spellings.join(", ")}`,
  ]);
  return table(caption, ["Meaning", "Holds rooms", "Spellings"], rows);
}

/** The lists of codes that the answers refer to: errors, violations, warnings, and what status labels mean. */
export function codeChapters(document: OpenApiDocument): readonly Chapter[] {
  return [
    errorChapter(document),
    {
      title: "Warnings",
      body: html`<p>What is doubtful is accepted all the same, and told with the record's outcome in <a href="#getRequest">the status of its request</a>.</p>${codeTable("Every warning code", WARNING_CODES)}`,
    },
    {
      title: "Status labels",
      body: html`<p>A status is a label. Whether it holds rooms, which puts them on the books, is a mapping that can be set for each client; this is the default. Case does not matter, nor does what stands between words: <code>IN HOUSE</code>, <code>In-House</code> and <code>INHOUSE</code> are one. A label that is not listed is accepted, kept, warned about, and holds no rooms until it is mapped.</p>
<h3 id="reservation-labels">Reservations</h3>${labelTable("reservations", "Reservation status labels")}
<h3 id="group-labels">Groups</h3>${labelTable("groups", "Group status labels")}`,
    },
  ];
}
