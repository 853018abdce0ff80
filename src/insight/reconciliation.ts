import type pg from "pg";
import type { Position, PositionShape } from "../read/position.ts";
import { isCode, isFlag, isNight } from "./books-position.ts";
import { type NightItems, pageOfNights } from "./night-pages.ts";
import type { InsightPage } from "./on-the-books.ts";
import { pointInTimeOf } from "./point-in-time.ts";
import type { StayQuestion } from "./question.ts";
import { type ReconciledNight, readSources, reconcile } from "./reconciled-nights.ts";
import type { Scene } from "./scene.ts";

/** What a position of reconciled nights looks like. */
export const RECONCILIATION_POSITION: PositionShape = [isNight, isFlag, isCode];

/** Of a night that is not reported either, and of which nothing is on the books. */
const isNothing = ({ reported, rebuilt, unpickedBlocks }: ReconciledNight): boolean =>
  reported === null && rebuilt === 0 && unpickedBlocks === 0;

/** A page of nights, what inventory reports against what reservations come to, in the order of nights and room types. */
export function reconciliation(
  client: pg.ClientBase,
  question: StayQuestion,
  scene: Scene,
  start: Position | null,
  limit: number,
): Promise<InsightPage<ReconciledNight>> {
  const { property, from, to, by } = question;
  const nights: NightItems<ReconciledNight> = {
    ...{ client, property },
    ...{ from, to, isGrouped: by === "roomType" },
    read: async ({ first, last }) => {
      const at = pointInTimeOf(question);
      const sources = await readSources(client, property, { from: first, to: last }, at, scene);
      return reconcile(sources, by === "roomType").filter((night) => !isNothing(night));
    },
    positionOf: ({ stayDate, roomType = null }) => [stayDate, roomType === null ? 1 : 0, roomType ?? ""],
    beginOf: (night) => [night, 0, ""],
  };
  return pageOfNights(nights, start, limit);
}
