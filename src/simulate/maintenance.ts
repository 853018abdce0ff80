import type { HotelProfile } from "./hotel-profile.ts";
import type { RoomBooks } from "./room-books.ts";
import { SeededRandom } from "./seeded-random.ts";

/** Rooms of the first type that some hotels keep for themselves. */
const HOUSE_USE_ROOMS = 1;
const HOUSE_USE_HOTELS = 3;
const STARTS_IN = 6;
const AHEAD_DAYS_MAX = 20;
const NIGHTS_MOST = 8;

/** Takes rooms out of order, for some nights, where nobody has booked them. All of it is invented. */
export class Maintenance {
  readonly #seed: number;
  readonly #profile: HotelProfile;
  readonly #books: RoomBooks;

  constructor(seed: number, profile: HotelProfile, books: RoomBooks) {
    this.#seed = seed ^ Math.imul(profile.number + 1, 0x85ebca77);
    this.#profile = profile;
    this.#books = books;
    if (profile.number % HOUSE_USE_HOTELS !== 0) return;
    for (let day = books.firstDay; day < books.firstDay + books.days; day += 1)
      books.take("other", 0, day, HOUSE_USE_ROOMS);
  }

  /** What is planned on a day, for then or later. */
  plan(today: number): void {
    const random = SeededRandom.stream(this.#seed, today);
    if (random.between(1, STARTS_IN) !== 1) return;
    const first = today + random.between(0, AHEAD_DAYS_MAX);
    const nights = random.between(2, NIGHTS_MOST);
    const type = random.between(0, this.#profile.roomTypes.length - 1);
    const rooms = random.between(1, 2);
    if (this.#books.free(type, first, nights) < rooms) return;
    for (let day = first; day < first + nights; day += 1) this.#books.take("maintenance", type, day, rooms);
  }
}
