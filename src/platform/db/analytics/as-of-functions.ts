/** A condition on the rows of a relation that they lie in the bucket `home`; "" where all buckets lie on one server. */
export type AndHome = (relation: string) => string;

/** A function of the schema `analytics` that answers the rows of a relation as of an instant. */
export interface AsOfFunction {
  readonly name: string;
  /** Whether it takes a range of dates, and counts the ledger. */
  readonly hasDates: boolean;
  readonly returns: string;
  /** Its select, over the parameters by name. */
  readonly select: (andHome: AndHome) => string;
}

export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** What precedes the language and body. */
export function declarationOf({ name, hasDates, returns }: AsOfFunction): string {
  return `create or replace function analytics.${name}(instant timestamptz, clock analytics.clock default 'source',
    of_client_code text default null, of_property_code text default null${
      hasDates ? ",\n    first_date date default null, last_date date default null" : ""
    })
    returns ${returns}`;
}

/** The function as plain PostgreSQL has it. The body is text, so its names are looked up when it is planned. */
export function createAsOfFunction(made: AsOfFunction): string {
  return `${declarationOf(made)} language sql stable parallel safe as ${literal(made.select(() => ""))}`;
}
