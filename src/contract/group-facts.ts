import {
  arrayField,
  dateElement,
  decimalElement,
  field,
  integerElement,
  rowText,
  textElement,
  textField,
} from "./facts-text.ts";
import type { Group } from "./schema/group.ts";

/** The text of a `bellhop.group_facts`: arrays have an entry a group block. */
export function groupFacts(record: Group): string {
  const blocks = record.groupBlocks;
  return rowText([
    textField(record.name),
    textField(record.masterGroupCode),
    field(dateElement(record.bookingDate)),
    field(dateElement(record.startDate)),
    field(dateElement(record.endDate)),
    field(integerElement(record.cutoffDays)),
    field(dateElement(record.cutoffDate)),
    textField(record.groupTypeCode),
    textField(record.pickupTypeCode),
    textField(record.marketSegmentCode),
    textField(record.rateCode),
    arrayField(blocks, (block) => dateElement(block.occupancyDate)),
    arrayField(blocks, (block) => textElement(block.roomTypeCode)),
    arrayField(blocks, (block) => integerElement(block.blocks)),
    arrayField(blocks, (block) => integerElement(block.pickup)),
    arrayField(blocks, (block) => integerElement(block.originalBlocks)),
    arrayField(blocks, (block) => decimalElement(block.singlePersonRate)),
    arrayField(blocks, (block) => decimalElement(block.twoPersonRate)),
    arrayField(blocks, (block) => textElement(block.currencyCode)),
  ]);
}
