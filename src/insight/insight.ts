import type pg from "pg";
import type { Fields, ObjectOf, ValuesOf as ValuesOfFields } from "../platform/http/openapi/schema.ts";
import type { ValuesOf } from "../platform/http/parameters.ts";
import type { Position, PositionShape } from "../platform/http/position.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import type { InsightPage } from "./paging.ts";
import type { InsightParameterSet } from "./parameters.ts";
import type { QueryContext } from "./query-context.ts";
import type { StayQuestion } from "./question.ts";

/** A query to an insight. */
export interface Asked<Of extends InsightParameterSet = InsightParameterSet> {
  readonly client: pg.ClientBase;
  readonly question: StayQuestion;
  readonly queryContext: QueryContext;
  readonly start: Position | null;
  readonly limit: number;
  readonly parameters: ValuesOf<Of>;
}

/** A page, and the answer's other fields. */
export type InsightResult<Item = object, Beside extends Fields = Fields> = InsightPage<Item> & {
  /** The instant whose business day the answer has, if not that of the parameter `asOf`. */
  readonly asOf?: string;
} & (string extends keyof Beside
    ? { readonly beside?: object }
    : { readonly beside: ValuesOfFields<Beside> });

/** Declaration of an insight: its route, parameters, items in JSON and CSV, documentation, and how it is answered. */
export interface Insight<
  Of extends InsightParameterSet = InsightParameterSet,
  Item extends Fields = Fields,
  Absent extends string = string,
  Beside extends Fields = Fields,
> {
  /** Its path under INSIGHT_PATH. */
  readonly name: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: Of;
  readonly item: {
    readonly name: string;
    readonly description: string;
    readonly fields: Item;
    /** Fields of an item only if requested: groupings, comparisons. */
    readonly optional?: readonly Absent[];
    readonly notInCsv?: readonly (keyof Item & string)[];
  };
  readonly page: {
    readonly name: string;
    readonly description: string;
    /** The answer's fields besides its items, with an example. */
    readonly fields?: Beside;
    readonly example?: object;
    /** By default `items`. */
    readonly itemsName?: string;
  };
  readonly position: PositionShape;
  /** Answers about the past even without `asOf`. */
  readonly looksBack?: true;
  /** Throws ServiceError `bellhop.http.InvalidParameter` for parameters that exclude each other. */
  check?(parameters: ValuesOf<Of>): void;
  /** Optional fields, other than groupings, that an answer does not have. */
  notAsked?(parameters: ValuesOf<Of>): readonly string[];
  /** The answer for a property unknown to Bellhop; by default no items. */
  nothing?(parameters: ValuesOf<Of>, settings: PropertySettings): Answered<Item, Absent, Beside>;
  /** A function computes the answer after the transaction, from what was read in it. */
  answer(
    asked: Asked<Of>,
  ): Promise<Answered<Item, Absent, Beside> | (() => Promise<Answered<Item, Absent, Beside>>)>;
}

type Answered<Item, Absent, Beside extends Fields> = InsightResult<
  NoInfer<ObjectOf<Item, Absent & keyof Item>>,
  NoInfer<Beside>
>;

/** Infers the types of an insight's parameters and items from its declaration. */
export function insight<
  const Of extends InsightParameterSet,
  Item extends Fields,
  const Absent extends string & keyof Item = never,
  Beside extends Fields = Fields,
>(declared: Insight<Of, Item, Absent, Beside>): Insight {
  return declared;
}

/** An example item, by room type. */
export function exampleOf({ fields, optional = [] }: Insight["item"]): object {
  const shown = Object.entries(fields).filter(([name]) => name === "roomType" || !optional.includes(name));
  return exampleOfFields(Object.fromEntries(shown));
}

export function exampleOfFields(fields: Fields): object {
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, schema.examples?.[0]]));
}
