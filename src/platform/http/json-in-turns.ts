import { WorkPauses } from "../runtime/work-pauses.ts";

/** Items that are serialized in one turn and call: one call each takes a fifth longer, and an item may have hundreds of findings. */
const PART_ITEMS = 20;

/** Items as JSON, separated by commas. `shown`: what is written of some items. */
async function jsonOfItems(
  items: readonly unknown[],
  pauses: WorkPauses,
  shown: (items: readonly unknown[]) => unknown = (some) => some,
): Promise<string> {
  const parts: string[] = [];
  for (let from = 0; from < items.length; from += PART_ITEMS) {
    if (pauses.isDue) await pauses.pause();
    parts.push(JSON.stringify(shown(items.slice(from, from + PART_ITEMS))).slice(1, -1));
  }
  return parts.join();
}

/** An object as JSON, its lists some items at a time: an answer may have thousands. `shown`: what is written of a member, or of some items of it. */
export async function jsonInTurns(
  of: object,
  shown: (value: unknown, name: string) => unknown = (value) => value,
): Promise<string> {
  const pauses = new WorkPauses();
  const members: string[] = [];
  for (const [name, value] of Object.entries(of)) {
    const text: string | undefined = Array.isArray(value)
      ? `[${await jsonOfItems(value, pauses, (some) => shown(some, name))}]`
      : JSON.stringify(shown(value, name));
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join()}}`;
}
