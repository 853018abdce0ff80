import type { BooksPlace } from "./books-position.ts";

/** A row of the books, as a statement answers it: numbers as text, since sums have no bound. */
export interface BooksRow extends BooksPlace {
  readonly rooms: string;
  readonly unmapped_rooms: string;
  readonly adults: string;
  readonly children: string;
  readonly room_revenue: string | null;
  readonly gross_room_revenue: string | null;
  readonly blocks: string;
}
