import fc from "fast-check";
import type { Resource } from "#contract/resource.ts";
import type { FieldSchema } from "#contract/schema/field.ts";
import { RECORD_SCHEMAS } from "#contract/schema/record-schemas.ts";

/** What the contract lets a text hold, and above all what PostgreSQL's texts of rows and arrays give a meaning to. */
const letters = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(..."\",\\{}()ab1 \t\n\r'N;:/é漢🏨") },
  { weight: 1, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 1 }) },
);
const texts = fc.oneof(
  fc.array(letters, { maxLength: 8 }).map((all) => all.join("").replaceAll("\0", "0")),
  fc.constantFrom(
    "",
    "NULL",
    "null",
    "Null",
    '"',
    "\\",
    "\\N",
    "\\.",
    "{}",
    "{NULL}",
    "()",
    "a,b",
    '""',
    " a ",
  ),
  fc.constantFrom("DLX", "STD", "BAR-1"),
);
const lastDay = (year: number, month: number) =>
  new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
const digits = (value: number, width: number) => String(value).padStart(width, "0");
const dates = fc
  .tuple(
    fc.oneof(fc.integer({ min: 1, max: 9999 }), fc.constantFrom(1, 4, 1582, 1900, 2000, 9999)),
    fc.integer({ min: 1, max: 12 }),
    fc.nat({ max: 30 }),
  )
  .map(([year, month, day]) => {
    const last = lastDay(year, month);
    return `${digits(year, 4)}-${digits(month, 2)}-${digits((day % last) + 1, 2)}`;
  });
const timestamps = fc
  .tuple(
    dates,
    fc.nat({ max: 23 }),
    fc.nat({ max: 59 }),
    fc.nat({ max: 59 }),
    fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 9 }),
    fc.constantFrom("minute", "second", "fraction", "fraction"),
  )
  .map(([date, hour, minute, second, fraction, to]) => {
    const parts = to === "minute" ? [hour, minute] : [hour, minute, second];
    const time = parts.map((value) => digits(value, 2)).join(":");
    return `${date}T${time}${to === "fraction" ? `.${fraction}` : ""}Z`;
  });
const figures = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 19 });
const decimals = fc.oneof(
  fc
    .tuple(fc.boolean(), figures, fc.option(figures))
    .map(([below, whole, part]) => `${below ? "-" : ""}${whole}${part === null ? "" : `.${part}`}`),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }).filter((value) => {
    // A number is kept to 38 digits in plain notation; a smaller one is a violation.
    return value === 0 || Math.abs(value) > 1e-15;
  }),
  fc.integer(),
  fc.constant("-0.00"),
);
const integers = fc.oneof(
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).map((value) => `${value}.0`),
  fc.nat({ max: 99 }).map((value) => `000000000${value}`),
);

function valuesOf(schema: FieldSchema): fc.Arbitrary<unknown> {
  const { fieldKind } = schema;
  if (fieldKind === "object") return recordsOfSchema(schema);
  if (fieldKind === "array")
    return fc.array(valuesOf(schema.items as FieldSchema), { minLength: schema.minItems ?? 0, maxLength: 3 });
  if (fieldKind === "text" || fieldKind === "code") return texts;
  if (fieldKind === "identity") return texts.filter((text) => text !== "");
  if (fieldKind === "date") return dates;
  if (fieldKind === "timestamp") return timestamps;
  if (fieldKind === "count" || fieldKind === "integer") return integers;
  if (fieldKind === "decimal") return decimals;
  return fc.constant(schema.example);
}

function recordsOfSchema(schema: FieldSchema): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, of]): [string, fc.Arbitrary<unknown>] => [
      name,
      of.nullable === true ? fc.option(valuesOf(of)) : valuesOf(of),
    ],
  );
  return fc.record(Object.fromEntries(fields), { requiredKeys: [...(schema.required ?? [])] }).map((made) => {
    const record: Record<string, unknown> = { ...made };
    const [start = "", end = ""] = schema.period ?? [];
    const [first, last] = [record[start], record[end]];
    if (typeof first === "string" && typeof last === "string" && first > last) {
      record[start] = last;
      record[end] = first;
    }
    return record;
  });
}

/** Records that the contract accepts: every field of the schema, absent where it may be, with values to the bounds of their kinds. */
export function validRecords(resource: Resource): fc.Arbitrary<Record<string, unknown>> {
  return recordsOfSchema(RECORD_SCHEMAS[resource]);
}
