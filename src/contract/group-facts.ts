import {
  arrayFields,
  dateElement,
  decimalElement,
  field,
  integerElement,
  rowText,
  textElement,
  textField,
} from "./facts-text.ts";
import type { Group } from "./schema/group.ts";

type Block = Group["groupBlocks"][number];

/** The columns of `bellhop.group_facts` with an entry a group block, in their order. */
const OF_BLOCK = [
  (block: Block) => dateElement(block.occupancyDate),
  (block: Block) => textElement(block.roomTypeCode),
  (block: Block) => integerElement(block.blocks),
  (block: Block) => integerElement(block.pickup),
  (block: Block) => integerElement(block.originalBlocks),
  (block: Block) => decimalElement(block.singlePersonRate),
  (block: Block) => decimalElement(block.twoPersonRate),
  (block: Block) => textElement(block.currencyCode),
];

/** The text of a `bellhop.group_facts`. */
export function groupFacts(record: Group): string {
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
    ...arrayFields(record.groupBlocks, OF_BLOCK),
  ]);
}
