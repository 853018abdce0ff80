import { DECIMAL_DIGITS_MAX } from "./decimal.ts";
import { FIELD_GAPS } from "./field-gaps.ts";
import { KNOWN_LABELS } from "./labels.ts";
import { RESOURCES, type Resource } from "./resource.ts";
import {
  CODE_CHARACTERS_MAX,
  type FieldKind,
  type FieldSchema,
  ITEMS_MAX,
  TEXT_CHARACTERS_MAX,
} from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { VIOLATION_CODES } from "./violation.ts";
import { WARNING_CODES } from "./warning.ts";

const KINDS: Readonly<Record<FieldKind, string>> = {
  text: `text, at most ${TEXT_CHARACTERS_MAX} characters`,
  code: `text, at most ${CODE_CHARACTERS_MAX} characters`,
  identity: `text, 1 to ${CODE_CHARACTERS_MAX} characters`,
  date: "date",
  timestamp: "timestamp",
  count: "whole number",
  integer: "whole number",
  decimal: "decimal",
  boolean: "true or false",
  word: "word",
  "flag-or-code": `true, false, or text of at most ${CODE_CHARACTERS_MAX} characters`,
  "code-or-object": `text of at most ${CODE_CHARACTERS_MAX} characters, or object`,
  array: "array",
  object: "object",
};

/**
 * The parts of `docs/records.md` that are made from the code: the tables of fields, codes and labels, by the name of the
 * marker between which each stands. A test holds the document to them; `writeGenerated` renews it.
 */
export function generatedSections(): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries(RESOURCES.map((resource) => [resource, fieldTable(resource)])),
    ...Object.fromEntries(RESOURCES.map((resource) => [`gaps-${resource}`, gapTable(resource)])),
    violations: codeTable(VIOLATION_CODES),
    warnings: codeTable(WARNING_CODES),
    "labels-reservations": labelTable("reservations"),
    "labels-groups": labelTable("groups"),
  };
}

/** A document with the text between each pair of markers (`<!-- generated: name -->`, `<!-- end -->`) made anew. */
export function writeGenerated(document: string): string {
  const sections = generatedSections();
  return document.replace(
    /(<!-- generated: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (whole, open, name, close) => {
      const section = sections[name as string];
      return section === undefined ? (whole as string) : `${open}\n${section}\n${close}`;
    },
  );
}

function fieldTable(resource: Resource): string {
  const rows = ["| Field | Type | Required | null | Meaning |", "|---|---|---|---|---|"];
  addRows(RECORD_SCHEMAS[resource], "", rows);
  return `${rows.join("\n")}\n`;
}

function addRows(schema: FieldSchema, prefix: string, rows: string[]): void {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const path = prefix + name;
    const required = schema.required?.includes(name) ? "yes" : "";
    rows.push(
      `| \`${path}\` | ${typeText(field)} | ${required} | ${field.nullable ? "yes" : ""} | ${field.description} |`,
    );
    if (field.fieldKind === "object") addRows(field, `${path}.`, rows);
    if (field.items?.fieldKind === "object") addRows(field.items, `${path}[].`, rows);
  }
}

function typeText(field: FieldSchema): string {
  if (field.fieldKind === "word") return `one of ${(field.enum ?? []).join(", ")}`;
  if (field.fieldKind !== "array") return KINDS[field.fieldKind];
  const least = field.minItems ? `${field.minItems} to ` : "at most ";
  const item = field.items?.fieldKind ?? "object";
  return `array of ${item === "object" ? "objects" : KINDS[item]}, ${least}${ITEMS_MAX}`;
}

function gapTable(resource: Resource): string {
  const rows = FIELD_GAPS[resource].map(
    ({ fields, open, answer }) =>
      `| ${fields.map((path) => `\`${path}\``).join(", ")} | ${open} | ${answer} |`,
  );
  return `| Field | The specification does not show | Answer |\n|---|---|---|\n${rows.join("\n")}\n`;
}

function codeTable(codes: Readonly<Record<string, string>>): string {
  const rows = Object.entries(codes).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  return `| Code | Meaning |\n|---|---|\n${rows.join("\n")}\n`;
}

function labelTable(resource: "reservations" | "groups"): string {
  const rows = KNOWN_LABELS[resource].map(
    ({ canonical, deducts, spellings }) =>
      `| ${canonical} | ${deducts ? "yes" : "no"} | ${spellings.join(", ")} |`,
  );
  return `| Meaning | Deducts | Spellings |\n|---|---|---|\n${rows.join("\n")}\n`;
}

/** The limits that the document names in its text; a test holds the text to them. */
export const DOCUMENTED_LIMITS = {
  textCharactersMax: TEXT_CHARACTERS_MAX,
  codeCharactersMax: CODE_CHARACTERS_MAX,
  itemsMax: ITEMS_MAX,
  decimalDigitsMax: DECIMAL_DIGITS_MAX,
} as const;
