import {
  type Answer,
  type Content,
  type Header,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type Reference,
  resolved,
  type Schema,
} from "../platform/http/openapi/model.ts";
import { forIntegrations } from "./for-integrations.ts";
import { mapValues, sentSchemas } from "./open-answers.ts";

/** A schema of OpenAPI 3.0. */
type PlainSchema = Readonly<Record<string, unknown>>;

/** Keywords that mean the same in OpenAPI 3.0. */
const ALWAYS = ["required", "default"] as const;
const BOUNDS = ["minItems", "maxItems", "minimum", "maximum"] as const;
const LENGTHS = ["minLength", "maxLength"] as const;

const INTRODUCTION =
  "Push room inventory, reservations and group blocks of hotels; read back each record's outcome. This is the document for code generators (docs/clients.md).";

/**
 * The document as OpenAPI 3.0.3 without what code generators cannot express:
 *
 * - a number that may be sent as text is an `integer`, or a `string` if it is a decimal;
 * - other unions are values of any type;
 * - unknown fields are `additionalProperties`;
 * - times that are sent, and those of records, are strings: the date types of some languages write `+00:00` or lose microseconds;
 * - what an integration does not need is left out (for-integrations.ts);
 * - answers have no bounds, an answer with several media types has JSON alone, and bodies have no examples.
 */
export function forGenerators(document: OpenApiDocument): object {
  return new Converter(forIntegrations(document)).document();
}

/** The schema with an example of its own type: a decimal's may be a number. */
function typed(schema: PlainSchema): PlainSchema {
  const { type, example } = schema;
  return type === "string" && typeof example === "number" ? { ...schema, example: String(example) } : schema;
}

/** OpenAPI 3.0 has no empty list of required fields. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

class Converter {
  readonly #document: OpenApiDocument;
  readonly #sent: ReadonlySet<string>;

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#sent = sentSchemas(document);
  }

  document(): object {
    const { info, servers, tags, paths, components } = this.#document;
    const { parameters, headers, responses, schemas, securitySchemes } = components;
    const objects = Object.entries(schemas).filter(([name]) => this.#isNamed(name));
    return {
      openapi: "3.0.3",
      info: {
        title: info.title,
        version: info.version,
        description: INTRODUCTION,
        contact: info.contact,
        license: { name: info.license.name, url: "https://www.apache.org/licenses/LICENSE-2.0" },
      },
      servers,
      tags,
      paths: mapValues(paths, (item) =>
        mapValues(item as Record<string, Operation>, (operation) => this.#operation(operation)),
      ),
      components: {
        securitySchemes: mapValues(securitySchemes, ({ bearerFormat: _, ...scheme }) => scheme),
        parameters: mapValues(parameters, (parameter) => this.#parameter(parameter)),
        headers: mapValues(headers, (header) => this.#header(header, false)),
        responses: mapValues(responses, (answer) => this.#answer(answer)),
        schemas: mapValues(Object.fromEntries(objects), (schema, name) =>
          this.#schema(schema, this.#sent.has(`schemas/${name}`)),
        ),
      },
    };
  }

  /** Whether a component stays one: generators make a type of an object, and need none for a plain value. */
  #isNamed(name: string): boolean {
    return this.#document.components.schemas[name]?.properties !== undefined;
  }

  #operation(operation: Operation): object {
    const { parameters, requestBody, responses, ...rest } = operation;
    const body = requestBody && { ...requestBody, content: this.#content(requestBody.content, true) };
    return {
      ...rest,
      ...(parameters && {
        parameters: parameters.map((one) => ("$ref" in one ? one : this.#parameter(one))),
      }),
      ...(body && { requestBody: body }),
      responses: mapValues(responses, (answer) => ("$ref" in answer ? answer : this.#answer(answer))),
    };
  }

  #parameter(parameter: Parameter): object {
    return this.#header(parameter, true);
  }

  #header(header: Header, isSent: boolean): object {
    return { ...header, schema: this.#schema(header.schema, isSent) };
  }

  #answer(answer: Answer): object {
    const { headers, content, ...rest } = answer;
    return {
      ...rest,
      ...(headers && {
        headers: mapValues(headers, (header) => ("$ref" in header ? header : this.#header(header, false))),
      }),
      ...(content && { content: this.#content(content, false) }),
    };
  }

  #content(content: Content, isSent: boolean): object {
    const json = content["application/json"];
    const kept = json === undefined ? content : { "application/json": json };
    return mapValues(kept, ({ schema }, type) => ({
      schema:
        type === "application/x-ndjson"
          ? { type: "string", description: "Lines of JSON." }
          : this.#schema(schema, isSent),
    }));
  }

  #schema(schema: Schema, isSent: boolean): PlainSchema {
    const notes = this.#notes(schema);
    if (schema.$ref !== undefined) {
      const name = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
      if (this.#isNamed(name)) return { $ref: schema.$ref };
      const target = resolved(this.#document, schema as Reference | Schema) as Schema;
      return typed({ ...this.#schema(target, isSent), ...notes });
    }
    if (schema.anyOf !== undefined) return typed({ ...this.#union(schema.anyOf, isSent), ...notes });
    const types = [schema.type ?? []].flat().filter((type) => type !== "null");
    const isNullable = [schema.type].flat().includes("null");
    const words = schema.enum?.filter((word) => word !== null);
    return {
      ...(types.length === 1 && { type: types[0] }),
      ...(isNullable && { nullable: true }),
      ...this.#bounds(schema, isSent),
      ...(words && { enum: words }),
      ...(schema.properties && {
        properties: mapValues(schema.properties, (property) => this.#schema(property, isSent)),
      }),
      ...this.#others(schema, isSent),
      ...(schema.items && { items: this.#schema(schema.items, isSent) }),
      ...notes,
    };
  }

  #bounds(schema: Schema, isSent: boolean): PlainSchema {
    const isText = isSent && schema.format === "date-time";
    const names = [
      ...(isText ? [] : (["format"] as const)),
      ...ALWAYS,
      ...(isSent ? BOUNDS : []),
      // A date has a type of its own, and no length.
      ...(isSent && schema.format !== "date" ? LENGTHS : []),
    ];
    const given = names.filter((name) => schema[name] !== undefined && !isEmptyList(schema[name]));
    return Object.fromEntries(given.map((name) => [name, schema[name]]));
  }

  #others({ additionalProperties: others, properties }: Schema, isSent: boolean): PlainSchema {
    if (typeof others === "object") return { additionalProperties: this.#schema(others, isSent) };
    // A form that refuses unknown fields needs no word of it: a generated client has no other fields to send.
    return properties !== undefined && others === true ? { additionalProperties: true } : {};
  }

  /** A number that may be text, a component or null, or else a value of any type. */
  #union(parts: readonly Schema[], isSent: boolean): PlainSchema {
    const isNullable = parts.some(({ type }) => type === "null");
    const nullable = isNullable ? { nullable: true } : {};
    const [first, second, ...more] = parts.filter(({ type }) => type !== "null");
    if (first?.$ref !== undefined && second === undefined)
      return { type: "object", ...nullable, allOf: [{ $ref: first.$ref }] };
    if (first === undefined || more.length > 0 || second?.type !== "string") return {};
    if (first.type === "integer") return { ...this.#schema(first, isSent), ...nullable };
    return first.type === "number" ? { ...this.#schema(second, isSent), ...nullable } : {};
  }

  #notes({ description, examples, "x-extensible-enum": words }: Schema): PlainSchema {
    const known =
      words === undefined ? "" : ` Known values, to which later releases add: ${words.join(", ")}.`;
    return {
      ...(description !== undefined && { description: description + known }),
      ...(examples?.[0] !== undefined && { example: examples[0] }),
    };
  }
}
