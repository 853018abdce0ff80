/**
 * Generates the types of packages/client from the OpenAPI document: one per schema that the client sends or receives,
 * and one per list query. `npm run generate -- openapi` writes them, `npm run check -- openapi` compares.
 */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly "x-extensible-enum"?: readonly string[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

type Schemas = Readonly<Record<string, Schema>>;

/** The part of the document that this script reads. */
export interface TypedDocument {
  readonly components: { readonly schemas: Schemas };
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get?: {
          readonly operationId: string;
          readonly parameters?: readonly unknown[];
          readonly responses: unknown;
        };
      }
    >
  >;
}

/** Schemas that the client sends or receives; their references are included. */
const ROOTS = [
  "Inventory",
  "Reservation",
  "Group",
  "RequestStatus",
  "RequestSummary",
  "RecordOutcome",
  "InventoryVersion",
  "ReservationVersion",
  "GroupVersion",
  "ErrorBody",
  "ViolationBody",
  "AccessToken",
];

/** Lists whose queries get a type, without `cursor`, which the client handles. */
const LISTS = [
  "listInventories",
  "listReservations",
  "listGroups",
  "listRequests",
  "listInventoriesHistory",
  "listReservationsHistory",
  "listGroupsHistory",
];

const HEAD = `// Written by \`npm run generate -- openapi\` from docs/openapi.json: change it there.
`;

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

function docLines(description: string | undefined, indent: string): string[] {
  if (description === undefined) return [];
  const text = description.replaceAll("*/", "* /").replace(/\s+/g, " ").trim();
  return [`${indent}/** ${/[.!?]$/.test(text) ? text : `${text}.`} */`];
}

const literal = (value: unknown): string => JSON.stringify(value);

const PLAIN: Readonly<Record<string, string>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

function plainType(type: string, schema: Schema, indent: string): string {
  if (type === "array") {
    const item = typeOf(schema.items ?? {}, indent);
    return /[|&]/.test(item) && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
  }
  if (type !== "object") return PLAIN[type] ?? "unknown";
  const { additionalProperties: others } = schema;
  if (schema.properties === undefined)
    return `Record<string, ${typeof others === "object" ? typeOf(others, indent) : "unknown"}>`;
  return `{\n${memberLines(schema, `${indent}  `).join("\n")}\n${indent}}`;
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(" | ");
  // An open list suggests the known values and accepts any.
  const open = schema["x-extensible-enum"];
  if (open !== undefined) return [...open.map(literal), "(string & {})"].join(" | ");
  if (schema.anyOf !== undefined) return schema.anyOf.map((one) => typeOf(one, indent)).join(" | ");
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  return types.length === 0 ? "unknown" : types.map((type) => plainType(type, schema, indent)).join(" | ");
}

/** Optional fields may be undefined, because JSON omits those. */
function memberLines({ properties = {}, required = [] }: Schema, indent: string): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
    const type = typeOf(schema, indent);
    const isRequired = required.includes(name);
    return [
      ...docLines(schema.description, indent),
      `${indent}${key}${isRequired ? "" : "?"}: ${type}${isRequired ? "" : " | undefined"};`,
    ];
  });
}

/** The schema in `others` whose members are all members of this one. */
function baseOf(schema: Schema, others: readonly string[], schemas: Schemas): string | undefined {
  const names = ({ properties = {} }: Schema) => Object.keys(properties);
  const own = new Set(memberLines(schema, ""));
  return others.find((other) => {
    const candidate = schemas[other] ?? {};
    const isSmaller = names(candidate).length > 1 && names(candidate).length < names(schema).length;
    return isSmaller && memberLines(candidate, "").every((line) => own.has(line));
  });
}

function declaration(name: string, schema: Schema, base?: Schema & { readonly name: string }): string[] {
  const head = docLines(schema.description, "");
  if (schema.properties === undefined) return [...head, `export type ${name} = ${typeOf(schema, "")};`, ""];
  const inherited = new Set(Object.keys(base?.properties ?? {}));
  const own = Object.entries(schema.properties).filter(([member]) => !inherited.has(member));
  const lines = memberLines({ ...schema, properties: Object.fromEntries(own) }, "  ");
  return [...head, `export interface ${name}${base ? ` extends ${base.name}` : ""} {`, ...lines, "}", ""];
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === "$ref" && typeof member === "string" ? [nameOf(member)] : referencesIn(member),
  );
}

/** The roots and everything that they refer to, each before its references. */
function reachedFrom(roots: readonly string[], schemas: Schemas): string[] {
  const reached = new Set(roots);
  for (const name of reached) for (const reference of referencesIn(schemas[name])) reached.add(reference);
  return [...reached];
}

function queryDeclaration(operationId: string, document: TypedDocument): string[] {
  const operation = Object.values(document.paths).find(({ get }) => get?.operationId === operationId)?.get;
  if (operation === undefined) throw new Error(`The document has no operation ${operationId}.`);
  const parameters = (operation.parameters ?? []) as readonly Parameter[];
  const asked = parameters.filter((one) => one.in === "query" && one.name !== "cursor");
  const schema: Schema = {
    description: `What \`${operationId}\` can be asked.`,
    properties: Object.fromEntries(
      asked.map(({ name, schema: of, description }) => [
        name,
        description === undefined ? of : { ...of, description },
      ]),
    ),
    required: asked.flatMap(({ name, required }) => (required === true ? [name] : [])),
  };
  return declaration(`${operationId[0]?.toUpperCase()}${operationId.slice(1)}Query`, schema);
}

/** The declarations of schemas and their references. Throws if the document lacks one. */
export function schemaTypes(roots: readonly string[], schemas: Schemas): string[] {
  const names = reachedFrom(roots, schemas);
  return names.flatMap((name) => {
    const schema = schemas[name];
    if (schema === undefined) throw new Error(`The document has no schema ${name}.`);
    const base = baseOf(schema, names, schemas);
    const extended = base === undefined ? undefined : { ...schemas[base], name: base };
    return declaration(name, schema, extended);
  });
}

/** The text of packages/client/src/api-types.ts. */
export function clientTypes(document: TypedDocument): string {
  const lines = schemaTypes(ROOTS, document.components.schemas);
  const codes = [
    "/** Every code of an error object. */",
    'export type ErrorCode = ErrorBody["exception"];',
    "/** Every code of a violation. */",
    'export type ViolationCode = ViolationBody["code"];',
    "",
  ];
  return [HEAD, ...lines, ...LISTS.flatMap((id) => queryDeclaration(id, document)), ...codes]
    .join("\n")
    .replace(/\n+$/, "\n");
}
