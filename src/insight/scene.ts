import type pg from "pg";
import { withTransaction } from "../db/transaction.ts";
import { type PropertySettings, settingsOf } from "../settings/property-settings.ts";
import { labelMeaningsOf, type PropertyLabels } from "./label-meanings.ts";
import type { StayQuestion } from "./question.ts";
import { settledReceipts, watermarkOf } from "./watermark.ts";

/** What a question is answered by, beside the entries: all of it as of one moment. */
export interface Scene {
  readonly settings: PropertySettings;
  readonly labels: PropertyLabels;
  /** By the clock of receipt: at or below it no answer changes any more. Null by the source clock. */
  readonly watermark: string | null;
}

/**
 * Answers a question from one snapshot: settings, meanings of labels and the watermark are read first, then whatever `ask`
 * reads is at least as new. Read only; nothing waits for it and it waits for nothing.
 */
export async function onScene<Answer>(
  pool: pg.Pool,
  question: StayQuestion,
  ask: (client: pg.ClientBase, scene: Scene) => Promise<Answer>,
): Promise<{ readonly scene: Scene; readonly answer: Answer }> {
  const { clientCode, propertyCode, property, clock } = question;
  const settled = clock === "receipt" ? await settledReceipts(pool, property) : null;
  return withTransaction(
    pool,
    async (client) => {
      const watermark = await watermarkOf(client, property, settled);
      const settings = await settingsOf(client, clientCode, propertyCode);
      const labels = await labelMeaningsOf(client, clientCode, property);
      const scene = { settings, labels, watermark };
      return { scene, answer: await ask(client, scene) };
    },
    { isolation: "repeatable read", readOnly: true },
  );
}
