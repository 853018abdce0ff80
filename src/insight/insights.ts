import { blocks } from "./blocks.ts";
import { dailyReport } from "./daily-report.ts";
import { feeds } from "./feed-health.ts";
import type { Insight } from "./insight.ts";
import { movements } from "./movements.ts";
import { onTheBooks } from "./on-the-books.ts";
import { night } from "./one-night.ts";
import { pace } from "./pace.ts";
import { pickup } from "./pickup.ts";
import { reconciliation } from "./reconciliation.ts";

export const INSIGHT_PATH = "/api/insight/v1";

export const INSIGHTS: readonly Insight[] = [
  onTheBooks,
  pickup,
  pace,
  movements,
  dailyReport,
  blocks,
  reconciliation,
  night,
  feeds,
];
