import type pg from "pg";
import { withTransaction } from "../platform/db/transaction.ts";
import { type PropertySettings, settingsOf } from "../settings/property-settings.ts";
import { labelMeaningsOf, type PropertyLabels } from "./label-meanings.ts";
import type { StayQuestion } from "./question.ts";
import { settledReceipts, watermarkOf } from "./watermark.ts";

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
