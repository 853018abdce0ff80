import { decimalFact, type Facts, integerFact, textFact } from "./facts.ts";
import type { Group } from "./schema/group.ts";

/** The columns of `bellhop_state.group_version`: arrays have an entry a group block. */
export function groupFacts(record: Group): Facts {
  const blocks = record.groupBlocks;
  return {
    name: textFact(record.name),
    master_group_code: textFact(record.masterGroupCode),
    booking_date: textFact(record.bookingDate),
    start_date: record.startDate,
    end_date: record.endDate,
    cutoff_days: integerFact(record.cutoffDays),
    cutoff_date: textFact(record.cutoffDate),
    group_type_code: textFact(record.groupTypeCode),
    pickup_type_code: textFact(record.pickupTypeCode),
    market_segment_code: textFact(record.marketSegmentCode),
    rate_code: textFact(record.rateCode),
    occupancy_date: blocks.map((block) => block.occupancyDate),
    room_type_code: blocks.map((block) => block.roomTypeCode),
    blocks: blocks.map((block) => integerFact(block.blocks)),
    pickup: blocks.map((block) => integerFact(block.pickup)),
    original_blocks: blocks.map((block) => integerFact(block.originalBlocks)),
    single_person_rate: blocks.map((block) => decimalFact(block.singlePersonRate)),
    two_person_rate: blocks.map((block) => decimalFact(block.twoPersonRate)),
    currency_code: blocks.map((block) => textFact(block.currencyCode)),
  };
}
