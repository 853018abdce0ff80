import { COMPONENT_NAMES } from "../../contract/component-schemas.ts";
import { type Html, html, joined } from "../../markup/html.ts";
import { type OpenApiDocument, resolveReference, type Schema } from "../openapi/model.ts";
import { renderInline } from "../page/inline-markdown.ts";

/** Where the fields of a component are shown once, so that others link to it. */
export const FIELDS_ANCHORS: Readonly<Record<string, string>> = {
  [COMPONENT_NAMES.inventories]: "fields-inventories",
  [COMPONENT_NAMES.reservations]: "fields-reservations",
  [COMPONENT_NAMES.groups]: "fields-groups",
  Error: "error-object",
};

/** Where the meaning of a field's labels stands. */
const LABELS_ANCHORS: Readonly<Record<string, string>> = {
  status: "reservation-labels",
  groupStatusCode: "group-labels",
};

const NAMED_TYPES: Readonly<Record<string, string>> = {
  WholeNumber: "whole number",
  Decimal: "decimal",
  Timestamp: "timestamp",
  RequestId: "UUID",
};

function nameOf(schema: Schema): string | undefined {
  return schema.$ref?.split("/").at(-1);
}

/** A schema with what its reference says; its own words win. */
function merged(document: OpenApiDocument, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  return { ...(resolveReference(document, schema.$ref) as Schema), ...schema };
}

function lengthOf({ minLength, maxLength, pattern, format }: Schema): string {
  if (maxLength === undefined || format !== undefined || pattern?.startsWith("^[0-9]{4}") === true) return "";
  return minLength === undefined || minLength === 0
    ? `, at most ${maxLength} characters`
    : `, ${minLength} to ${maxLength} characters`;
}

function textType(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum?.length === 1) return JSON.stringify(schema.enum[0]);
  if (schema.enum !== undefined) return `one of ${schema.enum.join(", ")}`;
  if (schema.format === "date") return "date";
  if (schema.format === "date-time") return "timestamp";
  if (schema.format === "uri") return "URL";
  return `text${lengthOf(schema)}`;
}

/** A schema's type in the words of the guide. */
export function typeOf(document: OpenApiDocument, schema: Schema): string {
  const named = NAMED_TYPES[nameOf(schema) ?? ""];
  if (named !== undefined) return named;
  const whole = merged(document, schema);
  if (whole.anyOf !== undefined) return whole.anyOf.map((part) => typeOf(document, part)).join(" or ");
  const types = [whole.type ?? "anything"].flat();
  const orNull = types.includes("null") ? " or null" : "";
  const [type] = types.filter((name) => name !== "null");
  if (type === "array") {
    const item = typeOf(document, whole.items ?? {});
    return `array of ${item === "object" ? "objects" : item}${orNull}`;
  }
  if (type === "string") return textType(whole) + orNull;
  if (type === "integer") return `whole number${orNull}`;
  return (type === "boolean" ? "true or false" : String(type)) + orNull;
}

/** The schema of an object's fields, also when the object stands in an array. */
function objectIn(
  document: OpenApiDocument,
  schema: Schema,
): { object: Schema; name: string | undefined } | undefined {
  const whole = merged(document, schema);
  if (whole.type === "array" && whole.items !== undefined) return objectIn(document, whole.items);
  return whole.properties === undefined ? undefined : { object: whole, name: nameOf(schema) };
}

function openWords({ "x-enumDescriptions": words, enum: values }: Schema): Html | undefined {
  if (words === undefined || values === undefined) return undefined;
  const rows = Object.entries(words).map(([word, meaning]) => html`<li><code>${word}</code> ${meaning}</li>`);
  return html`<ul class="words">${rows}</ul>`;
}

/** A label's field is free text: those of answers, which have fixed words, are others of the same name. */
function labelsLink(name: string, { type, enum: words, const: word }: Schema): Html | undefined {
  const anchor = LABELS_ANCHORS[name];
  if (anchor === undefined || type !== "string" || words !== undefined || word !== undefined)
    return undefined;
  return html`<p class="see"><a href="#${anchor}">Status labels and what they mean</a></p>`;
}

/** Whose fields they are: of a body, what is required is to be seen; of an answer, what may be missing. */
type Side = "body" | "answer";

function markOf(required: boolean, side: Side): Html | undefined {
  if (side === "body") return required ? html` <span class="required">required</span>` : undefined;
  return required ? undefined : html` <span class="type">not always there</span>`;
}

function fieldRow(
  document: OpenApiDocument,
  name: string,
  field: Schema,
  required: boolean,
  side: Side,
): Html {
  const whole = merged(document, field);
  const inner = objectIn(document, field);
  const anchor = FIELDS_ANCHORS[inner?.name ?? ""];
  const nested =
    inner === undefined
      ? ""
      : anchor === undefined
        ? html`<details><summary>Fields of <code>${name}</code></summary>${fieldList(document, inner.object, side)}</details>`
        : html`<p class="see"><a href="#${anchor}">Fields of ${inner.name}</a></p>`;
  return html`<li><p class="field"><code class="name">${name}</code> <span class="type">${typeOf(document, field)}</span>${markOf(required, side)}</p>${whole.description === undefined ? "" : html`<p class="says">${renderInline(whole.description)}</p>`}${openWords(whole)}${labelsLink(name, whole)}${nested}</li>`;
}

/** The fields of an object, those that are required first in their order, nested objects folded in. */
function fieldList(document: OpenApiDocument, object: Schema, side: Side): Html {
  const required = new Set(object.required ?? []);
  const fields = Object.entries(object.properties ?? {});
  const ordered = [
    ...fields.filter(([name]) => required.has(name)),
    ...fields.filter(([name]) => !required.has(name)),
  ];
  return html`<ul class="fields">${joined(
    ordered.map(([name, field]) => fieldRow(document, name, field, required.has(name), side)),
    "\n",
  )}</ul>`;
}

/** The fields of what a body or answer holds, or a link to where they stand. */
export function fieldsOf(document: OpenApiDocument, schema: Schema, side: Side): Html | undefined {
  const inner = objectIn(document, schema);
  if (inner === undefined) return undefined;
  const anchor = FIELDS_ANCHORS[inner.name ?? ""];
  if (anchor !== undefined) return html`<p class="see"><a href="#${anchor}">Fields of ${inner.name}</a></p>`;
  return fieldList(document, inner.object, side);
}

/** The fields of a component, at the place where they are shown. */
export function fieldsOfComponent(document: OpenApiDocument, name: string, side: Side): Html {
  return fieldList(document, document.components.schemas[name] as Schema, side);
}
