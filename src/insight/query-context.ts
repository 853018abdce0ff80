import type pg from "pg";
import { canonicalLabel } from "#contract/labels.ts";
import { letterOf } from "#contract/resource.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import type { LabelledResource } from "../settings/label-mapping.ts";
import { type PropertySettings, settingsOf } from "../settings/property-settings.ts";
import type { StayQuestion } from "./question.ts";
import { settledReceipts, watermarkOf } from "./watermark.ts";

/** Every label of the property $2 in the bucket $1 that the ledger knows. A property's dimensions are few; its records are not. */
const readLabels = namedStatement(
  "read-property-labels",
  `select distinct status as label
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2 and status is not null
  order by status`,
);

/** What the labels of a property's reservations and groups mean now, each label once. */
export interface LabelMeanings {
  /** Labels under which rooms are on the books. */
  readonly deducting: readonly string[];
  /** Labels that are known, and hold nothing. */
  readonly off: readonly string[];
  /** Labels without a mapping: they hold nothing, and answers list them separately. */
  readonly unmapped: readonly string[];
}

/** What labels mean to a client code. */
export interface PropertyLabels extends Readonly<Record<LabelledResource, LabelMeanings>> {
  /** Whether any label deducts; undefined where nobody has mapped it. */
  deducts(resource: LabelledResource, label: string): boolean | undefined;
}

function meaningsOf(
  labels: readonly string[],
  deductsOf: (label: string) => boolean | undefined,
): LabelMeanings {
  const meanings = Map.groupBy(labels, deductsOf);
  const [deducting = [], off = [], unmapped = []] = [true, false, undefined].map((one) => meanings.get(one));
  return { deducting, off, unmapped };
}

/** What every label of the ledger means, by the client code's mapping or by default, for both resources: the ledger does not say whose it is. */
async function labelMeaningsOf(
  on: Queryable,
  clientCode: string,
  property: { readonly propertyId: number; readonly bucket: number },
): Promise<PropertyLabels> {
  const values = [property.bucket, property.propertyId];
  const found = await on.query<{ label: string }>({ ...readLabels, values });
  const mapped = await on.query<{ resource: string; label: string; deducts: boolean }>({
    name: "read-label-mappings",
    text: "select resource, label, deducts from bellhop.status_mapping where client_code = $1",
    values: [clientCode],
  });
  const own = new Map(mapped.rows.map(({ resource, label, deducts }) => [`${resource}${label}`, deducts]));
  const deducts = (resource: LabelledResource, label: string) =>
    own.get(`${letterOf(resource)}${label}`) ?? canonicalLabel(resource, label)?.deducts;
  const labels = found.rows.map(({ label }) => label);
  return {
    deducts,
    reservations: meaningsOf(labels, (label) => deducts("reservations", label)),
    groups: meaningsOf(labels, (label) => deducts("groups", label)),
  };
}

/** What a question is answered by, beside the entries: all of it as of one moment. */
export interface QueryContext {
  readonly settings: PropertySettings;
  readonly labels: PropertyLabels;
  /** By the clock of receipt: at or below it no answer changes any more. Null by the source clock. */
  readonly watermark: string | null;
}

/**
 * Answers a question from one snapshot: settings, meanings of labels and the watermark are read first, then whatever `ask`
 * reads is at least as new. Read only; nothing waits for it and it waits for nothing.
 */
export async function onQueryContext<Answer>(
  pool: pg.Pool,
  question: StayQuestion,
  ask: (client: pg.ClientBase, queryContext: QueryContext) => Promise<Answer>,
): Promise<{ readonly queryContext: QueryContext; readonly answer: Answer }> {
  const { clientCode, propertyCode, property, clock } = question;
  const settled = clock === "receipt" ? await settledReceipts(pool, property) : null;
  return withTransaction(
    pool,
    async (client) => {
      const watermark = await watermarkOf(client, property, settled);
      const settings = await settingsOf(client, clientCode, propertyCode);
      const labels = await labelMeaningsOf(client, clientCode, property);
      const queryContext = { settings, labels, watermark };
      return { queryContext, answer: await ask(client, queryContext) };
    },
    { isolation: "repeatable read", readOnly: true },
  );
}
