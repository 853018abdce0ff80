import type { RealBooking } from "../data/real-bookings/real-bookings.ts";
import type { TestClient, TestService } from "../support/service.ts";
import { dateOfDay, dayOf } from "../workload/calendar-day.ts";
import type { Curve } from "./compare-pace.ts";
import type { Grouping } from "./counted-nights.ts";
import type { Books, BooksByNight } from "./expected-books.ts";
import { PROPERTIES } from "./reservation-records.ts";

const PAGE_ITEMS = 1_000;

/** One row of `on-the-books` or `pickup`, as far as it is compared; its group is under the grouping's name. */
interface Item {
  readonly stayDate: string;
  readonly rooms: number;
  readonly adults: number;
  readonly children: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly currency: string | null;
}

/** One row of `pace`. */
interface PaceItem {
  readonly daysBefore: number;
  readonly rooms: number | null;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly lastYearRooms: number | null;
  readonly lastYearRoomRevenue: string | null;
  readonly lastYearGrossRoomRevenue: string | null;
  readonly currency: string | null;
}

interface Page {
  readonly items: readonly object[];
  readonly nextCursor: string | null;
  readonly watermark?: string | null;
}

/** What is asked: an instant is a text, as the API takes it. */
export interface InsightQuestion {
  readonly hotel: RealBooking["hotel"];
  /** The first and the last night, in days since 1970. */
  readonly from: number;
  readonly to: number;
  readonly by: Grouping;
  readonly asOf: string;
  readonly clock: "source" | "receipt";
  /** Pickup only. */
  readonly since?: string;
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d{1,6}))?$/;

/** Millionths of a plain decimal text; what is not reported is nothing. Throws for more than six decimals. */
export function millionthsOf(text: string | null): bigint {
  if (text === null) return 0n;
  const [, sign, whole, fraction = ""] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) throw new Error(`Not an amount: ${text}`);
  return BigInt(`${sign}${whole}${fraction.padEnd(6, "0")}`);
}

/** Asks the insights of a running service. */
export class Insight {
  readonly #service: TestService;
  readonly #client: TestClient;
  /** Answers asked for, and rows they had. */
  asked = 0;
  rows = 0;

  constructor(service: TestService, client: TestClient) {
    this.#service = service;
    this.#client = client;
  }

  /** On the books at an instant. */
  async onTheBooks(question: InsightQuestion): Promise<BooksByNight> {
    return await this.#books("on-the-books", question);
  }

  /** Pickup between two instants. */
  async pickup(question: InsightQuestion & { readonly since: string }): Promise<BooksByNight> {
    return await this.#books("pickup", question);
  }

  /** The booking curve of nights together, and that of the same weekdays a year before. */
  async pace(question: InsightQuestion): Promise<{ thisYear: Curve; lastYear: Curve }> {
    const items = (await this.#all("pace", question)) as PaceItem[];
    const euros = items.filter(({ currency }) => currency === "EUR");
    const pointOf = (rooms: number | null, net: string | null, gross: string | null) =>
      rooms === null ? null : { rooms, net: millionthsOf(net), gross: millionthsOf(gross) };
    return {
      thisYear: new Map(
        euros.map((one) => [one.daysBefore, pointOf(one.rooms, one.roomRevenue, one.grossRoomRevenue)]),
      ),
      lastYear: new Map(
        euros.map((one) => [
          one.daysBefore,
          pointOf(one.lastYearRooms, one.lastYearRoomRevenue, one.lastYearGrossRoomRevenue),
        ]),
      ),
    };
  }

  /** At or below it an answer by the clock of receipt stays as it is. */
  async watermark(hotel: RealBooking["hotel"]): Promise<string | null> {
    const page = await this.#page("on-the-books", {
      ...PROPERTIES[hotel],
      from: "2016-07-01",
      to: "2016-07-01",
      clock: "receipt",
      limit: "1",
    });
    return page.watermark ?? null;
  }

  async #books(kind: string, question: InsightQuestion): Promise<BooksByNight> {
    const items = (await this.#all(kind, question)) as Item[];
    const nights = new Map<number, Map<string | null, Books>>();
    for (const item of items) {
      const { rooms, adults, children, roomRevenue, grossRoomRevenue } = item;
      // A night of which inventory alone reports is there, too, with nothing on the books and in no currency.
      if (item.currency === null && rooms === 0 && roomRevenue === null) continue;
      if (item.currency !== "EUR") throw new Error(`Not in euros: ${JSON.stringify(item)}`);
      const day = dayOf(item.stayDate);
      const group =
        question.by === "none" ? null : (item as unknown as Record<string, string | null>)[question.by];
      const groups = nights.get(day) ?? new Map<string | null, Books>();
      nights.set(day, groups);
      if (group === undefined || groups.has(group))
        throw new Error(`Twice, or without its group: ${JSON.stringify(item)}`);
      const net = millionthsOf(roomRevenue);
      groups.set(group, { rooms, adults, children, net, gross: millionthsOf(grossRoomRevenue) });
    }
    return nights;
  }

  async #all(kind: string, { hotel, from, to, by, ...when }: InsightQuestion): Promise<object[]> {
    const parameters: Record<string, string> = {
      ...PROPERTIES[hotel],
      from: dateOfDay(from),
      to: dateOfDay(to),
      limit: String(PAGE_ITEMS),
      ...(by === "none" ? {} : { by }),
      ...when,
    };
    const items: object[] = [];
    let cursor: string | null = null;
    do {
      const page: Page = await this.#page(kind, { ...parameters, ...(cursor === null ? {} : { cursor }) });
      items.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    this.asked += 1;
    this.rows += items.length;
    return items;
  }

  async #page(kind: string, parameters: Readonly<Record<string, string>>): Promise<Page> {
    const query = new URLSearchParams(parameters);
    const answer = await this.#service.get(`/api/insight/v1/${kind}?${query}`, { as: this.#client });
    if (answer.status !== 200) throw new Error(`${kind}?${query}: ${answer.status} ${answer.text}`);
    return answer.json() as unknown as Page;
  }
}
