import type pg from "pg";
import type { Parameter } from "../platform/http/openapi/model.ts";
import type { Position, PositionShape } from "../platform/http/position.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import type { Fields } from "./fields.ts";
import type { InsightPage } from "./paging.ts";
import type { InsightParameters } from "./parameters.ts";
import type { QueryContext } from "./query-context.ts";
import type { StayQuestion } from "./question.ts";

/** A query to an insight. */
export interface Asked {
  readonly client: pg.ClientBase;
  readonly question: StayQuestion;
  readonly queryContext: QueryContext;
  readonly start: Position | null;
  readonly limit: number;
  readonly parameters: InsightParameters;
}

/** A page, and the answer's other fields. */
export interface InsightResult extends InsightPage<object> {
  readonly beside?: object;
  /** The instant whose business day the answer has, if not that of the parameter `asOf`. */
  readonly asOf?: string;
}

/** Definition of an insight: parameters, items in JSON and CSV, and how it is answered. */
export interface Insight {
  /** Its path under INSIGHT_PATH. */
  readonly name: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly item: {
    readonly name: string;
    readonly description: string;
    readonly fields: Fields;
    /** Fields of an item only if requested: groupings, comparisons. */
    readonly optional?: readonly string[];
    readonly notInCsv?: readonly string[];
  };
  readonly page: {
    readonly name: string;
    readonly description: string;
    /** The answer's fields besides its items, with an example. */
    readonly fields?: Fields;
    readonly example?: object;
    /** By default `items`. */
    readonly itemsName?: string;
  };
  readonly position: PositionShape;
  /** Answers about the past even without `asOf`. */
  readonly looksBack?: true;
  /** Optional fields, other than groupings, that an answer does not have. */
  notAsked?(parameters: InsightParameters): readonly string[];
  /** The answer for a property unknown to Bellhop; by default no items. */
  nothing?(parameters: InsightParameters, settings: PropertySettings): InsightResult;
  /** A function computes the answer after the transaction, from what was read in it. */
  answer(asked: Asked): Promise<InsightResult | (() => Promise<InsightResult>)>;
}

/** An example item, by room type. */
export function exampleOf({ fields, optional = [] }: Insight["item"]): object {
  const shown = Object.entries(fields).filter(([name]) => name === "roomType" || !optional.includes(name));
  return exampleOfFields(Object.fromEntries(shown));
}

export function exampleOfFields(fields: Fields): object {
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, schema.examples?.[0]]));
}
