import type { FastifyRequest } from "fastify";
import type { Clock, Grouping } from "../insight/question.ts";
import type { Parameter, Schema } from "./openapi/model.ts";
import { checkOrder, invalidParameter, QueryParameters } from "./read-parameters.ts";

type Value = string | number | undefined;

function missing(name: string, { format, $ref }: Schema): Error {
  const taken =
    format === "date"
      ? "a date as YYYY-MM-DD"
      : $ref !== undefined
        ? "a UTC time as YYYY-MM-DDThh:mm:ssZ"
        : "1 to 128 characters";
  return invalidParameter(`${name} is required: ${taken}.`);
}

/** The value of a parameter as its own schema says what it takes; its default where it is not given. */
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

/** The parameters of an insight, read and checked. */
export class InsightParameters {
  readonly #values = new Map<string, Value>();
  /** What the question is, apart from its pages. */
  readonly filters: string;

  /** Throws ServiceError `bellhop.http.InvalidParameter`, which says what is wrong, for what the definitions do not take. */
  constructor(request: FastifyRequest, definitions: readonly Parameter[]) {
    const names = definitions.map(({ name }) => name);
    const query = new QueryParameters(request.raw.url ?? "", names);
    for (const definition of definitions) this.#values.set(definition.name, valueBy(query, definition));
    this.filters = query.question();
    checkOrder(this.textOf("from"), this.textOf("to"));
    const [since, asOf] = [this.textOf("since"), this.textOf("asOf")];
    if (since !== undefined && asOf !== undefined && since > asOf)
      throw invalidParameter("since must not be after asOf.");
  }

  textOf(name: string): string | undefined {
    return this.#values.get(name) as string | undefined;
  }

  /** Of a parameter that is required or has a default. */
  givenText(name: string): string {
    return this.textOf(name) as string;
  }

  /** Of a number that is required or has a default. */
  givenNumber(name: string): number {
    return this.#values.get(name) as number;
  }

  get codes(): { readonly clientCode: string; readonly propertyCode: string } {
    return { clientCode: this.givenText("clientCode"), propertyCode: this.givenText("propertyCode") };
  }

  get by(): Grouping {
    return this.givenText("by") as Grouping;
  }

  get clock(): Clock {
    return this.givenText("clock") as Clock;
  }
}
