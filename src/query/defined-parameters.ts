import type { FastifyRequest } from "fastify";
import { type Instant, readInstant } from "../platform/http/instant.ts";
import type { Parameter, Schema } from "../platform/http/openapi/model.ts";
import { invalidParameter, QueryParameters } from "../platform/http/read-parameters.ts";
import type { PropertyCodes } from "./property.ts";

type Value = string | number | undefined;

function missing(name: string, { format, $ref }: Schema): Error {
  const taken =
    format === "date"
      ? "a date as YYYY-MM-DD"
      : $ref !== undefined
        ? "a UTC time as YYYY-MM-DDThh:mm:ssZ or YYYY-MM-DDThh:mmZ"
        : "1 to 128 characters";
  return invalidParameter(`${name} is required: ${taken}.`);
}

/** A parameter's value, validated by its schema; its default if omitted. */
function valueBy(query: QueryParameters, { name, schema, required }: Parameter): Value {
  const given = givenOf(query, name, schema);
  if (given === undefined && required === true) throw missing(name, schema);
  return given ?? (schema.default as Value);
}

function givenOf(query: QueryParameters, name: string, schema: Schema): Value {
  if (schema.enum !== undefined) return query.word(name, schema.enum as readonly string[]);
  if (schema.format === "date") return query.date(name);
  if (schema.$ref === "#/components/schemas/Timestamp") return query.timestamp(name);
  if (schema.type === "integer") return query.whole(name, schema.minimum ?? 0, schema.maximum ?? 0);
  return name === "cursor" ? query.cursor() : query.code(name);
}

/** A request's parameters, validated by the definitions of the OpenAPI document. */
export class DefinedParameters {
  readonly #values = new Map<string, Value>();
  readonly #query: QueryParameters;

  /** Throws ServiceError `bellhop.http.InvalidParameter`. */
  constructor(request: FastifyRequest, definitions: readonly Parameter[]) {
    const names = definitions.map(({ name }) => name);
    this.#query = new QueryParameters(request.raw.url ?? "", names);
    for (const definition of definitions) this.#values.set(definition.name, valueBy(this.#query, definition));
  }

  /** All other parameters as text in a canonical order. */
  filtersWithout(...without: string[]): string {
    return this.#query.question(without);
  }

  /** Text that identifies the query of a cursor. */
  get filters(): string {
    return this.filtersWithout("limit", "cursor");
  }

  /** The requested page. */
  get page() {
    return { limit: this.givenNumber("limit"), cursor: this.textOf("cursor") };
  }

  textOf(name: string): string | undefined {
    return this.#values.get(name) as string | undefined;
  }

  instantOf(name: string): Instant | undefined {
    const text = this.textOf(name);
    return text === undefined ? undefined : readInstant(text);
  }

  /** The property in the required parameters. */
  get codes(): PropertyCodes {
    return { clientCode: this.givenText("clientCode"), propertyCode: this.givenText("propertyCode") };
  }

  /** For a parameter that is required or has a default. */
  givenText(name: string): string {
    return this.textOf(name) as string;
  }

  /** For a number that is required or has a default. */
  givenNumber(name: string): number {
    return this.#values.get(name) as number;
  }
}
