import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { checkRecord } from "#contract/check-record.ts";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import type { FieldKind, FieldSchema } from "#contract/schema/field.ts";
import { RECORD_SCHEMAS } from "#contract/schema/record-schemas.ts";
import { changed, fullRecord, recordOf } from "./records.ts";

const readDocument = (name: string) => readFile(new URL(`../../docs/${name}`, import.meta.url), "utf8");

/** A field as the specification's tables have it; `path` as docs/records.md writes it, such as `roomStays[].rates[].startDate`. */
interface SpecifiedField {
  readonly resource: Resource;
  readonly path: string;
  readonly type: string;
  readonly nullable: boolean;
}

/** The specification's fields, from the list of docs/internal/conformance.md. */
async function readSpecifiedFields(): Promise<SpecifiedField[]> {
  const document = await readDocument("internal/conformance.md");
  const [, section] =
    /<!-- checked: specification-fields -->([\s\S]*?)<!-- end -->/.exec(document) ?? assert.fail("no list");
  return [...String(section).matchAll(/^\| 2\.\d `(\w+)`(?: `([^`]+)`)? \| (.+) \|$/gm)].flatMap((row) =>
    [...String(row[3]).matchAll(/`(\w+)` (\w+)( or null)?/g)].map((field) => ({
      resource: row[1] as Resource,
      path: row[2] === undefined ? String(field[1]) : `${row[2]}.${field[1]}`,
      type: String(field[2]),
      nullable: field[3] !== undefined,
    })),
  );
}

const specified = await readSpecifiedFields();

interface Loose {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Loose>>;
  readonly items?: Loose;
  readonly anyOf?: readonly Loose[];
}
type Schemas = Readonly<Record<string, Loose>>;

/** The schema of every field, by resource and path. */
function fieldsOf(schema: FieldSchema, prefix: string): [path: string, field: FieldSchema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const inner = field.fieldKind === "object" ? field : field.items;
    const deeper = inner === undefined ? [] : fieldsOf(inner, inner === field ? `${path}.` : `${path}[].`);
    return [[path, field] as [string, FieldSchema], ...deeper];
  });
}
const known = new Map(
  RESOURCES.flatMap((resource) =>
    fieldsOf(RECORD_SCHEMAS[resource], "").map(([path, field]) => [`${resource} ${path}`, field] as const),
  ),
);
const fieldOf = ({ resource, path }: SpecifiedField) =>
  known.get(`${resource} ${path}`) ?? assert.fail(`${resource} ${path} is not checked`);

const KINDS: Readonly<Record<string, readonly FieldKind[]>> = {
  string: ["text", "code", "identity", "currency"],
  timestamp: ["timestamp"],
  date: ["date"],
  integer: ["count", "integer"],
  decimal: ["decimal"],
  numeric: ["decimal", "count"],
  number: ["decimal"],
  boolean: ["boolean"],
  array: ["array"],
  object: ["object"],
};

/** What the specification shows for a type, numeric texts included, and what the type excludes. */
const VALUES: Readonly<Record<string, { readonly takes: unknown[]; readonly refuses: unknown[] }>> = {
  string: { takes: ["A", "Zoë 😀"], refuses: [1, true, {}, [], "\0"] },
  timestamp: {
    takes: [
      "2026-07-14T08:30:00Z",
      "2026-07-14T08:30Z",
      "2026-07-14T08:30:00.1234567Z",
      "2026-07-14T08:30:00.123456789Z",
    ],
    refuses: ["2026-07-14", "2026-07-14T08:30:00", "2026-07-14T08:30:00+01:00", 1, "", {}],
  },
  date: {
    takes: ["2026-07-15"],
    refuses: ["2026-02-30", "2026-07-15T00:00:00Z", "15.07.2026", 20260715, ""],
  },
  integer: { takes: [2, "2", 0, "1.0"], refuses: [1.5, "1.5", "", "two", true, 2 ** 31, {}, []] },
  decimal: { takes: ["180.00", "0", "-5", 12.5], refuses: ["", "1e5", "abc", "1,5", true, {}, []] },
  numeric: { takes: ["12", 12, "0"], refuses: ["", "abc", "1e5", true, {}, []] },
  number: { takes: [12.5, "12.50", 0], refuses: ["", "abc", "1e5", true, {}, []] },
  boolean: { takes: [true, false], refuses: ["true", 1, 0, "", {}] },
  array: { takes: [], refuses: [{}, "[]", 1, true] },
  object: { takes: [{}], refuses: [[], "{}", 1, true] },
};

test("every field of the specification is checked under its name, with its type and its null", () => {
  assert.deepEqual(
    RESOURCES.map((resource) => specified.filter((field) => field.resource === resource).length),
    [21, 64, 38],
    "the list of docs/internal/conformance.md has every row of the specification's tables",
  );
  for (const field of specified) {
    const { fieldKind, nullable } = fieldOf(field);
    const where = `${field.resource} ${field.path}`;
    assert.ok(KINDS[field.type]?.includes(fieldKind), `${where}: ${fieldKind} is no ${field.type}`);
    assert.equal(nullable === true, field.nullable, `${where}: null`);
  }
});

test("every field accepts the specification's examples of its type, and refuses other types", () => {
  for (const { resource, path, type, nullable } of specified) {
    const pointer = `/${path.replaceAll("[]", "/0").replaceAll(".", "/")}`;
    const violations = (value: unknown) =>
      checkRecord(resource, recordOf(changed(fullRecord(resource), pointer, value)), 100).violations;
    const { takes, refuses } = VALUES[type] ?? assert.fail(type);
    for (const value of [...takes, ...(nullable ? [null] : [])]) {
      // A date may fall out of its period here: that is not a matter of its type.
      const found = violations(value).filter(({ code }) => code !== "order.dates");
      assert.deepEqual(found, [], `${resource} ${path} takes ${JSON.stringify(value)}`);
    }
    for (const value of [...refuses, ...(nullable ? [] : [null])]) {
      assert.ok(
        violations(value).some((violation) => violation.pointer === `/0${pointer}`),
        `${resource} ${path} refuses ${JSON.stringify(value)}`,
      );
    }
  }
});

test("every field missing from the specification has a gap", () => {
  const named = new Set(specified.map(({ resource, path }) => `${resource} ${path}`));
  for (const [path, { notes }] of known)
    assert.ok(named.has(path) || notes?.gap !== undefined, `give ${path} a gap: the specification lacks it`);
});

test("the value of a group's service may be negative", () => {
  for (const value of [-12.5, "-12.50"]) {
    const record = changed(fullRecord("groups"), "/services/0/serviceValue", value);
    assert.deepEqual(checkRecord("groups", recordOf(record), 100).violations, []);
  }
});

test("docs/records.md lists every field of the specification with its type", async () => {
  const document = await readDocument("records.md");
  const words: Readonly<Record<string, RegExp>> = {
    string: /^string, /,
    timestamp: /^timestamp$/,
    date: /^date$/,
    integer: /^integer$/,
    decimal: /^decimal$/,
    numeric: /^(?:decimal|integer)$/,
    number: /^decimal$/,
    boolean: /^boolean$/,
    array: /^array of /,
    object: /^object$/,
  };
  for (const { resource, path, type, nullable } of specified) {
    const [, section] =
      new RegExp(`<!-- generated: ${resource} -->([\\s\\S]*?)<!-- end -->`).exec(document) ??
      assert.fail(resource);
    const row = String(section)
      .split("\n")
      .find((line) => line.startsWith(`| \`${path}\` |`));
    const cells = (row ?? assert.fail(`${resource} ${path}`)).split("|").map((cell) => cell.trim());
    assert.match(String(cells[2]), words[type] as RegExp, `${resource} ${path}`);
    assert.equal(cells[4] === "yes", nullable, `${resource} ${path}`);
  }
});

test("docs/openapi.json has every field of the specification with its type", async () => {
  const document = JSON.parse(await readDocument("openapi.json")) as { components: { schemas: Schemas } };
  const { schemas } = document.components;
  const whole = (schema: Loose): Loose => {
    const named = schema.$ref === undefined ? {} : whole(schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
    return { ...named, ...schema };
  };
  const typesOf = (schema: Loose): string[] =>
    [schema.type ?? [], ...(schema.anyOf ?? []).map((variant) => typesOf(whole(variant)))].flat();
  const types: Readonly<Record<string, readonly string[]>> = {
    string: ["string"],
    timestamp: ["string"],
    date: ["string"],
    integer: ["integer", "string"],
    decimal: ["number", "string"],
    numeric: ["number", "string"],
    number: ["number", "string"],
    boolean: ["boolean"],
    array: ["array"],
    object: ["object"],
  };
  const formats: Readonly<Record<string, string>> = { timestamp: "date-time", date: "date" };
  const names: Readonly<Record<Resource, string>> = {
    inventories: "Inventory",
    reservations: "Reservation",
    groups: "Group",
  };
  for (const { resource, path, type, nullable } of specified) {
    const where = `${resource} ${path}`;
    let at: Loose = whole(schemas[names[resource]] ?? assert.fail(resource));
    for (const step of path.split(".")) {
      at = whole(at.properties?.[step.replace("[]", "")] ?? assert.fail(`${where} is not in the document`));
      if (step.endsWith("[]")) at = whole(at.items ?? assert.fail(where));
    }
    // A whole number of children may be sent where the specification says numeric.
    const found = typesOf(at).map((one) => (one === "integer" && type === "numeric" ? "number" : one));
    assert.deepEqual(found.sort(), [...(types[type] ?? []), ...(nullable ? ["null"] : [])].sort(), where);
    const variants = [at, ...(at.anyOf ?? []).map(whole)];
    if (formats[type] !== undefined)
      assert.ok(
        variants.some(({ format }) => format === formats[type]),
        `${where}: format`,
      );
  }
});

test("the fields with missing names in the specification are known and typed", () => {
  const lost: [Resource, string, FieldKind][] = [
    ["groups", "action", "code"],
    ["groups", "cancelDate", "date"],
    ["groups", "netRoomRevenue", "decimal"],
    ["groups", "totalRoomRevenue", "decimal"],
    ...["threePersonRate", "fourPersonRate", "threePersonTotalRate", "fourPersonTotalRate"].map(
      (name): [Resource, string, FieldKind] => ["groups", `groupBlocks[].${name}`, "decimal"],
    ),
    ...["threePersonOccupancy", "fourPersonOccupancy"].map((name): [Resource, string, FieldKind] => [
      "groups",
      `groupBlocks[].${name}`,
      "count",
    ]),
    ["groups", "groupBlocks[].extraAdultRate", "decimal"],
    ["groups", "groupBlocks[].extraChildRate", "decimal"],
    ["reservations", "roomStays[].numberOfInfants", "count"],
    ["reservations", "primarySharer", "flag-or-code"],
    ["reservations", "sharers", "array"],
    ["reservations", "lastBookedPropertyCode", "code"],
  ];
  for (const [resource, path, kind] of lost)
    assert.equal(known.get(`${resource} ${path}`)?.fieldKind, kind, `${resource} ${path}`);
});
