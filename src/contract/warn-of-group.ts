import { integerValue } from "./decimal.ts";
import { GROUP_BLOCKS_MAX } from "./insight-bounds.ts";
import type { Group, GroupBlock } from "./schema/group.ts";
import { warnOfNegative } from "./warn-of-negative.ts";
import type { WarningList } from "./warning.ts";

const COUNTS = [
  "blocks",
  "pickup",
  "originalBlocks",
  "singlePersonOccupancy",
  "twoPersonOccupancy",
  "threePersonOccupancy",
  "fourPersonOccupancy",
] as const;

/** Warns of what is doubtful in a group: pickup above its block, blocks outside the group's dates. */
export function warnOfGroup(record: Group, warnings: WarningList): void {
  const { length } = record.groupBlocks;
  if (length > GROUP_BLOCKS_MAX) {
    const message = `the group has ${length} blocks, and insight counts up to ${GROUP_BLOCKS_MAX}: it leaves them out`;
    warnings.add("group.too-many-blocks", ["groupBlocks"], message);
  }
  for (let at = 0; at < record.groupBlocks.length; at += 1) {
    const block = record.groupBlocks[at] as GroupBlock;
    const path = ["groupBlocks", at] as const;
    warnOfNegative(block, COUNTS, path, warnings);
    const blocked = integerValue(block.blocks) ?? 0;
    const pickup = integerValue(block.pickup);
    if (pickup !== undefined && pickup > blocked) {
      warnings.add(
        "group.pickup-above-blocks",
        [...path, "pickup"],
        `pickup is ${pickup}, blocks is ${blocked}`,
      );
    }
    if (block.occupancyDate < record.startDate || block.occupancyDate > record.endDate) {
      const message = `${block.occupancyDate} is outside ${record.startDate} to ${record.endDate}`;
      warnings.add("group.outside-dates", [...path, "occupancyDate"], message);
    }
  }
}
