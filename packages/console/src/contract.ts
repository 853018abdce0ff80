/** The service's response types: src/console/answers.ts for `/console/api`, docs/openapi.json for the insights. */
import type { NightReconciliationPage } from "../../../src/console/api-types.ts";

export type * from "../../../src/console/answers.ts";
export type { Page as PageOf } from "../../../src/console/answers.ts";
export type {
  BlocksItem,
  BlocksPage as BlocksAnswer,
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
  ReconciliationItem,
  ReconciliationPage as ReconciliationAnswer,
} from "../../../src/console/api-types.ts";

export type Finding = NightReconciliationPage["findings"][number];

export const CONSOLE_API = "/console/api";
/** The header with `SessionAnswer.csrfToken`, sent with every POST except the login. */
export const CSRF_HEADER = "x-bellhop-csrf";
