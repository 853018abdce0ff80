import { dateOfDay } from "../workload/calendar-day.ts";
import type { Books, BooksByNight } from "./expected-books.ts";

const isNothing = ({ rooms, adults, children, net, gross }: Books): boolean =>
  rooms === 0 && adults === 0 && children === 0 && net === 0n && gross === 0n;

function euros(millionths: bigint): string {
  const digits = String(millionths < 0n ? -millionths : millionths).padStart(7, "0");
  return `${millionths < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

function textOf(books: Books | undefined): string {
  if (books === undefined) return "nothing";
  const { rooms, adults, children, net, gross } = books;
  return `${rooms} rooms, ${adults} adults, ${children} children, net ${euros(net)}, gross ${euros(gross)}`;
}

/** Each night and group with something on the books, as a text. */
function cellsOf(nights: BooksByNight): Map<string, string> {
  const cells = new Map<string, string>();
  for (const [day, groups] of nights)
    for (const [group, books] of groups)
      if (!isNothing(books)) cells.set(`${dateOfDay(day)} ${group ?? "-"}`, textOf(books));
  return cells;
}

/** What of an answer is not as expected: one line a night and group, in the order of nights. Empty: equal to the room and cent. */
export function differencesOf(expected: BooksByNight, answered: BooksByNight): string[] {
  const [wanted, got] = [cellsOf(expected), cellsOf(answered)];
  const keys = [...new Set([...wanted.keys(), ...got.keys()])].sort();
  return keys
    .filter((key) => wanted.get(key) !== got.get(key))
    .map((key) => `${key}: expected ${wanted.get(key) ?? "nothing"}; answered ${got.get(key) ?? "nothing"}`);
}
