import { addDays } from "#contract/dates.ts";
import { SeededRandom } from "#simulator/random.ts";
import { groupRecord, inventoryRecord, type LooseRecord, reservationRecord } from "../support/records.ts";

/**
 * A hotel as its front desk knows it, and the feed that says so: each planted cause makes the feed, or the count, differ from the house on
 * some nights. It knows nothing of how the service explains differences.
 */

/** The finding that a cause should have, and the key of one of its records; null: the inventory of the asked night. */
interface Expected {
  readonly kinds: readonly string[];
  readonly key: string | null;
}

export interface PlantedNight {
  readonly stayDate: string;
  readonly causes: readonly (Expected & { readonly name: string })[];
}

/** What a hotel sends, one batch after another, and the nights to ask. */
export interface PlantedFeed {
  readonly batches: readonly {
    readonly resource: "inventories" | "reservations" | "groups";
    readonly records: readonly LooseRecord[];
  }[];
  readonly nights: readonly PlantedNight[];
}

const FIRST = "2027-01-01";
const on = (night: number) => addDays(FIRST, night);
const ROOMS: Readonly<Record<string, number>> = { STD: 60, DLX: 36, SUP: 24, STE: 10 };
const TYPES = Object.keys(ROOMS);
const ROOMY = ["STD", "DLX", "SUP"];
/** Nights between two plants. */
const WINDOW = 7;
const LENGTH_MAX = 4;
const EARLY = "2026-08-01T10:00:00Z";
const BOOKED = "2026-10-01T10:00:00Z";
const CHANGED = "2026-11-01T10:00:00Z";
const COUNTED = "2026-11-15T03:00:00Z";
const AFTER = "2026-11-15T09:00:00Z";

interface Stay {
  readonly first: number;
  readonly nights: number;
  readonly roomType: string;
}

/** Draws a hotel's bookings and plants causes in it. */
class PlantedHotel {
  readonly #random: SeededRandom;
  readonly #nights: number;
  readonly #hasParts: boolean;
  readonly #sold = new Map<string, { transient: number; grouped: number; sold: number }>();
  readonly #groups: LooseRecord[] = [];
  /** In the order in which they are sent. */
  readonly #before: LooseRecord[] = [];
  readonly #after: LooseRecord[] = [];
  #next = 0;

  constructor(seed: number, nights: number) {
    this.#random = SeededRandom.stream(seed, 0);
    this.#nights = nights;
    this.#hasParts = this.#random.chance(0.7);
  }

  build(perNight: 1 | 2): PlantedFeed {
    for (let night = 0; night < this.#nights; night += 1) this.#arrivals(night);
    for (let night = 5; night < this.#nights; night += 20) this.#event(night);
    const nights: PlantedNight[] = [];
    for (let first = 3; first + WINDOW < this.#nights; first += WINDOW)
      nights.push(perNight === 1 ? this.#plantOne(first) : this.#plantTwo(first));
    const inventories = Array.from({ length: this.#nights }, (_, night) => this.#inventoryOf(night));
    return {
      batches: [
        { resource: "groups", records: this.#groups },
        ...sliced(this.#before).map((records) => ({ resource: "reservations" as const, records })),
        ...sliced(inventories).map((records) => ({ resource: "inventories" as const, records })),
        { resource: "reservations", records: this.#after },
      ],
      nights,
    };
  }

  #plantOne(first: number): PlantedNight {
    const stay = this.#stay(first, this.#length());
    const [name, plant] = this.#cause();
    const expected = plant(stay);
    return { stayDate: on(this.#nightOf(expected, stay)), causes: [{ name, ...expected }] };
  }

  /** Two causes with a night in common, of one room type or of two. */
  #plantTwo(first: number): PlantedNight {
    const one = this.#stay(first, this.#length());
    const other = this.#random.chance(0.5)
      ? { ...this.#stay(first, this.#length()), roomType: one.roomType }
      : this.#stay(first, this.#length());
    for (;;) {
      const [name, plant] = this.#cause((kind) => kind.adds);
      const [otherName, plantOther] = this.#cause((kind) => kind.adds);
      if (name === otherName) continue;
      const causes = [
        { name, ...plant(one) },
        { name: otherName, ...plantOther(other) },
      ];
      return { stayDate: on(first), causes };
    }
  }

  #nightOf({ night }: { readonly night?: number }, { first, nights }: Stay): number {
    return night ?? first + this.#random.between(0, nights - 1);
  }

  #length(): number {
    return this.#random.between(1, LENGTH_MAX);
  }

  #stay(first: number, nights: number): Stay {
    return { first, nights, roomType: ROOMY[this.#random.between(0, ROOMY.length - 1)] as string };
  }

  #id(): string {
    this.#next += 1;
    // Not in the order of arrival.
    return `R${(this.#next * 7_919) % 1_000_003}`;
  }

  #record(
    id: string,
    { first, nights, roomType }: Stay,
    more: LooseRecord = {},
    ofStay: LooseRecord = {},
  ): LooseRecord {
    return reservationRecord({
      reservationId: id,
      lastModifiedDateTime: BOOKED,
      status: "RESERVED",
      ...more,
      roomStays: [
        {
          arrivalDate: on(first),
          departureDate: on(first + nights),
          roomTypeCode: roomType,
          roomNumber: `${roomType}-${id}`,
          currencyCode: "EUR",
          rates: [{ rateValue: String(this.#random.between(80, 240)) }],
          ...ofStay,
        },
      ],
    });
  }

  /** The house has so many more rooms occupied. */
  #occupy({ first, nights, roomType }: Stay, rooms = 1, part: "transient" | "grouped" = "transient"): void {
    for (let night = first; night < first + nights; night += 1) {
      const key = `${night} ${roomType}`;
      const sold = this.#sold.get(key) ?? { transient: 0, grouped: 0, sold: 0 };
      sold[part] += rooms;
      sold.sold += rooms;
      this.#sold.set(key, sold);
    }
  }

  /** Ordinary business, on which the feed and the count agree. */
  #arrivals(night: number): void {
    for (const roomType of TYPES) {
      const expected = (ROOMS[roomType] as number) * 0.2;
      const count = Math.floor(expected * (0.5 + this.#random.next() / 2 ** 32));
      for (let arrival = 0; arrival < count; arrival += 1) {
        const nights = Math.min(this.#random.between(1, 5), this.#random.between(1, 6));
        this.#ordinary({ first: night, nights, roomType });
      }
      if (this.#random.chance(0.04))
        this.#before.push(this.#record(this.#id(), { first: night, nights: 0, roomType }));
    }
  }

  #ordinary(stay: Stay): void {
    const id = this.#id();
    const draw = this.#random.next() / 2 ** 32;
    if (draw < 0.14) {
      const status = draw < 0.02 ? "NO SHOW" : "CANCELLED";
      this.#before.push(
        this.#record(id, stay),
        this.#record(id, stay, { status, lastModifiedDateTime: CHANGED }),
      );
      return;
    }
    const rooms = draw < 0.18 ? 2 : 1;
    this.#occupy(stay, rooms);
    if (draw < 0.26) {
      // Moved or prolonged before the count.
      const before = { ...stay, first: stay.first + 1 };
      this.#before.push(this.#record(id, before, { lastModifiedDateTime: EARLY, numberOfRooms: rooms }));
    }
    const isUpgraded = draw > 0.95;
    const share = draw > 0.9 && draw <= 0.95 ? { shareId: `S${id}` } : {};
    const free = draw > 0.89 && draw <= 0.9 ? { rates: [{ rateValue: "0.00" }] } : {};
    const booked = isUpgraded ? { bookedRoomTypeCode: stay.roomType === "STD" ? "DLX" : "STD" } : {};
    this.#before.push(this.#record(id, stay, { numberOfRooms: rooms, ...share }, { ...booked, ...free }));
    if ("shareId" in share)
      this.#before.push(this.#record(this.#id(), stay, share, { roomNumber: `${stay.roomType}-${id}` }));
  }

  /** A group whose reservations equal its pickup, and a tentative one. */
  #event(first: number): void {
    const stay = { first, nights: 2, roomType: "STD" };
    const code = `EVENT${first}`;
    const pickup = this.#random.between(2, 6);
    this.#block(code, stay, pickup + this.#random.between(1, 4), pickup);
    this.#block(`TENT${first}`, { ...stay, roomType: "DLX" }, this.#random.between(2, 5), 0, "TENTATIVE");
    for (let member = 0; member < pickup; member += 1) {
      this.#occupy(stay, 1, "grouped");
      this.#before.push(this.#record(this.#id(), stay, {}, { groupBlockCode: code }));
    }
  }

  #block(
    code: string,
    { first, nights, roomType }: Stay,
    blocks: number,
    pickup: number,
    status = "DEFINITE",
  ): void {
    const dates = Array.from({ length: nights }, (_, night) => on(first + night));
    this.#groups.push(
      groupRecord({
        groupCode: code,
        groupStatusCode: status,
        lastModifiedDateTime: BOOKED,
        startDate: dates[0],
        endDate: dates.at(-1),
        groupBlocks: dates.map((occupancyDate) => ({
          occupancyDate,
          roomTypeCode: roomType,
          blocks,
          pickup,
        })),
      }),
    );
  }

  #inventoryOf(night: number): LooseRecord {
    return inventoryRecord({
      occupancyDate: on(night),
      createDateTime: COUNTED,
      roomTypeInventories: TYPES.map((roomTypeCode) => {
        const { transient = 0, grouped = 0, sold = 0 } = this.#sold.get(`${night} ${roomTypeCode}`) ?? {};
        const torn = transient + grouped !== sold;
        const parts = this.#hasParts || torn ? { transientSold: transient, groupSold: grouped } : {};
        return {
          roomTypeCode,
          roomTypeCapacity: 2 * (ROOMS[roomTypeCode] as number),
          roomsSold: sold,
          ...parts,
        };
      }),
      virtualRoomTypeInventories: [{ roomTypeCode: "ROH", roomTypeCapacity: 20, roomsSold: 0 }],
    });
  }

  #cause(permits: (cause: Plant) => boolean = () => true): readonly [string, (stay: Stay) => Planted] {
    const possible = Object.entries(this.#plants).filter(([, cause]) => permits(cause));
    const [name, { plant }] = possible[
      this.#random.between(0, possible.length - 1)
    ] as (typeof possible)[number];
    return [name, plant];
  }

  /** Each cause: what the house knows, and what the feed says. `adds`: the hotel counts more on every night of the stay. */
  readonly #plants: Readonly<Record<string, Plant>> = {
    "never sent": {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        return { kinds: ["missing-reservation"], key: null };
      },
    },
    "cancelled, counted": {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        return this.#sent("cancelled-but-sold", stay, { status: "CANCELLED", lastModifiedDateTime: CHANGED });
      },
    },
    "no-show, counted": {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        return this.#sent("cancelled-but-sold", stay, { status: "NO SHOW" });
      },
    },
    "sharers counted each": {
      adds: true,
      plant: (stay) => {
        const sharers = this.#random.between(2, 3);
        this.#occupy(stay, sharers);
        const ids = Array.from({ length: sharers }, () => this.#id());
        for (const id of ids) this.#before.push(this.#record(id, stay, { shareId: `S${ids[0]}` }));
        return { kinds: ["share-counted-twice"], key: ids[0] as string };
      },
    },
    "one room without a share": {
      adds: false,
      plant: (stay) => {
        this.#occupy(stay);
        const ids = [this.#id(), this.#id()];
        for (const id of ids) this.#before.push(this.#record(id, stay, {}, { roomNumber: `X-${ids[0]}` }));
        return { kinds: ["room-without-share"], key: ids[0] as string };
      },
    },
    "unmapped status": {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        return this.#sent("unmapped-label", stay, { status: "PROVISIONAL-X" });
      },
    },
    rejected: {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        return this.#sent("rejected", stay, { numberOfRooms: "one" });
      },
    },
    "rejected dates": {
      adds: true,
      plant: (stay) => {
        this.#occupy({ ...stay, nights: 1 });
        const reversed = { arrivalDate: on(stay.first + 1), departureDate: on(stay.first) };
        return { ...this.#sent("rejected", stay, {}, reversed), night: stay.first };
      },
    },
    quarantined: {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        const lastModifiedDateTime = new Date(Date.now() + 3_600_000).toISOString();
        return this.#sent("quarantined", stay, { lastModifiedDateTime });
      },
    },
    "moved after the count": {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        const sent = this.#sent("changed-since-count", stay);
        this.#again(sent.key, { ...stay, first: this.#nights + 20 });
        return sent;
      },
    },
    "fewer rooms after the count": {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay, 3);
        const sent = this.#sent("changed-since-count", stay, { numberOfRooms: 3 });
        this.#again(sent.key, stay);
        return sent;
      },
    },
    "cancelled after the count": {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        const sent = this.#sent("changed-since-count", stay);
        this.#again(sent.key, stay, { status: "CANCELLED" });
        return { ...sent, kinds: ["changed-since-count", "cancelled-but-sold"] };
      },
    },
    "booked after the count": {
      adds: false,
      plant: (stay) => {
        const key = this.#id();
        this.#again(key, stay);
        return { kinds: ["changed-since-count"], key };
      },
    },
    "an older version came later": {
      adds: true,
      plant: (stay) => {
        // The house moved it to these nights; the feed's newer version has the old ones.
        this.#occupy(stay);
        const key = this.#id();
        const elsewhere = { ...stay, first: this.#nights + 10 };
        this.#before.push(this.#record(key, elsewhere, { lastModifiedDateTime: CHANGED }));
        this.#before.push(this.#record(key, stay, { lastModifiedDateTime: BOOKED }));
        return { kinds: ["stale"], key };
      },
    },
    "another spelling": {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        const spelt = [
          stay.roomType.toLowerCase(),
          `${stay.roomType} `,
          `${stay.roomType[0]}-${stay.roomType.slice(1)}`,
        ];
        const roomTypeCode = spelt[this.#random.between(0, 2)];
        return this.#sent("room-type-spelling", stay, {}, { roomTypeCode });
      },
    },
    "a virtual room type": {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        return this.#sent("virtual-room-type", stay, {}, { roomTypeCode: "ROH" });
      },
    },
    "a pseudo room": {
      adds: false,
      plant: (stay) => this.#sent("room-type-not-listed", stay, {}, { roomTypeCode: "PM" }),
    },
    "house use left out": {
      adds: false,
      plant: (stay) => this.#sent("complimentary-left-out", stay, {}, { rates: [{ rateValue: "0" }] }),
    },
    "day use counted": {
      adds: true,
      plant: (stay) => {
        this.#occupy({ ...stay, nights: 1 });
        return { ...this.#sent("day-use-counted", { ...stay, nights: 0 }), night: stay.first };
      },
    },
    "a departure in 9999": {
      adds: true,
      plant: (stay) => {
        this.#occupy(stay);
        return this.#sent("implausible-dates", stay, {}, { departureDate: "9999-12-31" });
      },
    },
    "a block counted": {
      adds: true,
      plant: (stay) => {
        const [code, left] = [`BLOCK${stay.first}${this.#id()}`, this.#random.between(1, 4)];
        this.#block(code, stay, left, 0);
        this.#occupy(stay, left, "grouped");
        return { kinds: ["unpicked-block-counted"], key: code };
      },
    },
    "a tentative block counted": {
      adds: true,
      plant: (stay) => {
        const [code, blocks] = [`OPTION${stay.first}${this.#id()}`, this.#random.between(2, 5)];
        this.#block(code, stay, blocks, 0, "TENTATIVE");
        this.#occupy(stay, blocks, "grouped");
        return { kinds: ["block-without-hold-counted"], key: code };
      },
    },
    "pickup without reservations": {
      adds: true,
      plant: (stay) => {
        const [code, pickup] = [`PICKED${stay.first}${this.#id()}`, this.#random.between(1, 3)];
        this.#block(code, stay, pickup + this.#random.between(3, 20), pickup);
        this.#occupy(stay, pickup, "grouped");
        return { kinds: ["pickup-not-received"], key: code };
      },
    },
    "parts that do not add up": {
      adds: true,
      plant: ({ first, roomType }) => {
        const sold = this.#sold.get(`${first} ${roomType}`);
        if (sold !== undefined) sold.sold += this.#random.between(1, 4);
        return { kinds: ["wrong-sold-count"], key: null, night: first };
      },
    },
    "a wrong count": {
      adds: false,
      plant: ({ first, roomType }) => {
        const isMore = this.#random.chance(0.5);
        this.#occupy(
          { first, nights: 1, roomType },
          isMore ? this.#random.between(4, 9) : -this.#random.between(2, 6),
        );
        return { kinds: ["wrong-sold-count"], key: null, night: first };
      },
    },
    "booked as another room type": {
      adds: true,
      plant: (stay) => {
        const roomTypeCode = stay.roomType === "STD" ? "SUP" : "STD";
        this.#occupy(stay);
        return this.#sent(
          "other-room-type-booked",
          stay,
          {},
          { roomTypeCode, bookedRoomTypeCode: stay.roomType },
        );
      },
    },
  };

  #sent(kind: string, stay: Stay, more: LooseRecord = {}, ofStay: LooseRecord = {}) {
    const key = this.#id();
    this.#before.push(this.#record(key, stay, more, ofStay));
    return { kinds: [kind], key };
  }

  #again(id: string, stay: Stay, more: LooseRecord = {}): void {
    this.#after.push(this.#record(id, stay, { lastModifiedDateTime: AFTER, ...more }));
  }
}

/** `night`: the only night that can be asked, if it is not every night of the stay. */
type Planted = Expected & { readonly night?: number };

interface Plant {
  readonly adds: boolean;
  readonly plant: (stay: Stay) => Planted;
}

const BATCH = 500;
function sliced(records: readonly LooseRecord[]): LooseRecord[][] {
  const slices: LooseRecord[][] = [];
  for (let from = 0; from < records.length; from += BATCH) slices.push(records.slice(from, from + BATCH));
  return slices;
}

export function plantedFeed(seed: number, nights: number, perNight: 1 | 2): PlantedFeed {
  return new PlantedHotel(seed, nights).build(perNight);
}
