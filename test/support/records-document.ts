import { DECIMAL_DIGITS_MAX } from "#contract/decimal.ts";
import { FIELD_KINDS } from "#contract/field-kinds.ts";
import { byResource, RESOURCES, type Resource } from "#contract/resource.ts";
import {
  CODE_CHARACTERS_MAX,
  type FieldGap,
  type FieldSchema,
  ITEMS_MAX,
  TEXT_CHARACTERS_MAX,
} from "#contract/schema/field.ts";
import { FIELDS, RECORD_SCHEMAS } from "#contract/schema/record-schemas.ts";
import { KNOWN_STATUSES } from "#contract/statuses.ts";
import { VIOLATION_CODES } from "#contract/violation.ts";
import { WARNING_CODES } from "#contract/warnings.ts";

interface AnsweredGap extends FieldGap {
  /** Paths as docs/records.md writes them: `roomStays[].rates[].endDate`. */
  readonly fields: readonly string[];
}

/** The gaps by resource, in the order of their first fields. Virtual room types have the fields of the others. */
const FIELD_GAPS = byResource((resource): readonly AnsweredGap[] => {
  const fields = new Map<FieldGap, Map<FieldSchema, string>>();
  for (const { path, field } of FIELDS[resource])
    for (const gap of [field.notes?.gap ?? []].flat()) {
      const paths = fields.get(gap) ?? new Map<FieldSchema, string>();
      if (!paths.has(field)) fields.set(gap, paths.set(field, path));
    }
  return [...fields].map(([gap, paths]) => ({ ...gap, fields: [...paths.values()] }));
});

/**
 * The generated parts of `docs/records.md` (tables of fields, codes and statuses) by the name of their marker.
 * A test compares the document with them; `writeGenerated` renews it.
 */
export function generatedSections(): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries(RESOURCES.map((resource) => [resource, fieldTable(resource)])),
    ...Object.fromEntries(RESOURCES.map((resource) => [`gaps-${resource}`, gapTable(resource)])),
    violations: codeTable(VIOLATION_CODES),
    warnings: codeTable(WARNING_CODES),
    "statuses-reservations": statusTable("reservations"),
    "statuses-groups": statusTable("groups"),
  };
}

/** The document with the text between each pair of markers (`<!-- generated: name -->`, `<!-- end -->`) generated again. */
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
      `| \`${path}\` | ${FIELD_KINDS[field.fieldKind].reference(field)} | ${required} | ${field.nullable ? "yes" : ""} | ${field.description} |`,
    );
    if (field.fieldKind === "object") addRows(field, `${path}.`, rows);
    if (field.items?.fieldKind === "object") addRows(field.items, `${path}[].`, rows);
  }
}

function gapTable(resource: Resource): string {
  const rows = FIELD_GAPS[resource].map(
    ({ fields, open, answer }) =>
      `| ${fields.map((path) => `\`${path}\``).join(", ")} | ${open} | ${answer} |`,
  );
  return `| Field | Not specified | Rule |\n|---|---|---|\n${rows.join("\n")}\n`;
}

function codeTable(codes: Readonly<Record<string, string>>): string {
  const rows = Object.entries(codes).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  return `| Code | Meaning |\n|---|---|\n${rows.join("\n")}\n`;
}

function statusTable(resource: "reservations" | "groups"): string {
  const rows = KNOWN_STATUSES[resource].map(
    ({ canonical, deducts, spellings }) =>
      `| ${canonical} | ${deducts ? "yes" : "no"} | ${spellings.join(", ")} |`,
  );
  return `| Meaning | Deducts | Spellings |\n|---|---|---|\n${rows.join("\n")}\n`;
}

/** The limits that the document's text names; a test compares them. */
export const DOCUMENTED_LIMITS = {
  textCharactersMax: TEXT_CHARACTERS_MAX,
  codeCharactersMax: CODE_CHARACTERS_MAX,
  itemsMax: ITEMS_MAX,
  decimalDigitsMax: DECIMAL_DIGITS_MAX,
} as const;
