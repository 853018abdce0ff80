import type { Step } from "./step.ts";
import { cancellation } from "./steps/cancellation.ts";
import { coldStart } from "./steps/cold-start.ts";
import { dayUse } from "./steps/day-use.ts";
import { group } from "./steps/group.ts";
import { groupPickup } from "./steps/group-pickup.ts";
import { inventory } from "./steps/inventory.ts";
import { modification } from "./steps/modification.ts";
import { nullAndNumbers } from "./steps/null-and-numbers.ts";
import { outOfOrder } from "./steps/out-of-order.ts";
import { rateLimit } from "./steps/rate-limit.ts";
import { reservation } from "./steps/reservation.ts";
import { retry } from "./steps/retry.ts";
import { sevenDays } from "./steps/seven-days.ts";
import { share } from "./steps/share.ts";
import { tokenUse } from "./steps/token-use.ts";

/** Everything that an integration has to show, in the order in which a developer would go about it; any other does as well. */
export const CHECKLIST: readonly Step[] = [
  inventory,
  reservation,
  group,
  modification,
  cancellation,
  share,
  groupPickup,
  dayUse,
  nullAndNumbers,
  outOfOrder,
  retry,
  rateLimit,
  coldStart,
  sevenDays,
  tokenUse,
];
