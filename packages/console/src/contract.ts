/**
 * The service's response types: each feature's answers for `/console/api`, beside its console routes, and docs/openapi.json for the
 * insights. Times are ISO 8601 UTC, dates YYYY-MM-DD.
 */
import type { NightReconciliationPage } from "../../../src/console/api-types.ts";

export type * from "../../../src/backfill/console-answers.ts";
export type * from "../../../src/certification/console-answers.ts";
export type {
  BlocksItem,
  BlocksPage as BlocksAnswer,
  DailyReportItem,
  DailyReportPage as DailyReportAnswer,
  FeedHealthItem,
  FeedHealthPage as FeedHealthAnswer,
  NightReconciliationPage as NightReconciliationAnswer,
  NightReservationItem,
  OnTheBooksItem,
  OnTheBooksPage as OnTheBooksAnswer,
  PaceItem,
  PacePage as PaceAnswer,
  PickupItem,
  PickupPage as PickupAnswer,
  PortfolioReport,
  PortfolioReportItem,
  ReconciliationItem,
  ReconciliationPage as ReconciliationAnswer,
} from "../../../src/console/api-types.ts";
export type * from "../../../src/console/session-answers.ts";
export type * from "../../../src/delivery/console-answers.ts";
export type * from "../../../src/identity/console-answers.ts";
export type { Grant } from "../../../src/identity/grants.ts";
export type { Permission, Role } from "../../../src/identity/roles.ts";
export type * from "../../../src/insight/console/answers.ts";
export type * from "../../../src/platform/http/answers.ts";
export type { Page as PageOf } from "../../../src/platform/http/answers.ts";
export type * from "../../../src/query/console/answers.ts";
export type { Outcome } from "../../../src/query/outcome.ts";
export type * from "../../../src/settings/console-answers.ts";
export type * from "../../../src/webhooks/console-answers.ts";
export type { Resource } from "../../contract/src/resource.ts";

export type Finding = NightReconciliationPage["findings"][number];

export const CONSOLE_API = "/console/api";
/** The header with `SessionAnswer.csrfToken`, sent with every POST except the login. */
export const CSRF_HEADER = "x-bellhop-csrf";
