import { type FactColumn, factColumnsOf } from "#contract/fact-columns.ts";
import type { SqlType } from "#contract/field-kinds.ts";
import type { Resource } from "#contract/resource.ts";
import { CHANGES_OF_ANY } from "#contract/revenue-changes.ts";
import { RESERVATION_NIGHTS_MAX, STAY_NIGHTS_MAX } from "#contract/warnings.ts";
import type { ViewColumn } from "./stored-versions.ts";

/** `sql` is over `property`, `record` (the version that counts), `facts` (that with its facts), and what `from` adds. */
interface RelationColumn extends ViewColumn {
  readonly type: SqlType;
  /** For docs/analytics.md. */
  readonly source: string;
}

/**
 * What analysts query, written once and made twice (`make-relations.ts`): as a view of current state and as a function `…_as_of`. Each fact of
 * the schemas is a column automatically; what is computed stands here.
 */
export interface Relation {
  readonly name: string;
  readonly resource: Resource;
  readonly meaning: string;
  readonly columns: readonly RelationColumn[];
  /** What joins each row of a record's lists; "" for one row a record. */
  readonly from: string;
}

const [ROOM, RESERVATION, STAY, RATE, DAY, GROUP, BLOCK] = (
  ["room", "reservation", "stay", "rate", "day", "group", "block"] as const
).map(factColumnsOf) as [
  room: Facts,
  reservation: Facts,
  stay: Facts,
  rate: Facts,
  day: Facts,
  group: Facts,
  block: Facts,
];
type Facts = readonly FactColumn[];

const without = (facts: Facts, ...names: readonly string[]) =>
  facts.filter(({ name }) => !names.includes(name));
/** By which a stay is distinguished from others. */
const STAY_CODES = STAY.filter(({ type }) => type === "text");
const RATE_VALUES = without(RATE, "rate_start_date", "rate_end_date", "rate_stay_index");
const DAY_VALUES = without(DAY, "revenue_date");

/** Names after a prefix, separated by commas. */
const list = (facts: Facts, prefix = "") => facts.map(({ name }) => `${prefix}${name}`).join(", ");
/** The items of a list as rows. */
const rowsOf = (facts: Facts, as: string) =>
  `unnest(${list(facts, "facts.")}) with ordinality as ${as} (${list(facts)}, place)`;

const column = (name: string, type: SqlType, source: string, sql: string): RelationColumn => {
  return { name, type, source, sql };
};
/** Facts of `of` as columns. */
const columnsOf = (facts: Facts, of: string, source: string): readonly RelationColumn[] =>
  facts.map(({ name, type, path = name }) => {
    const isRenamed = path.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) !== name;
    return column(name, type, isRenamed ? `\`${path}\`` : source, `${of}.${name}`);
  });

const RECORD = "the record";
const STAY_OF = "the stay";
const DAYS = "`stayRevenue.daily[]`";
const BLOCKS = "`groupBlocks[]`";
const RESERVATION_ID = column("reservation_id", "text", RECORD, "record.key");
const GROUP_CODE = column("group_code", "text", RECORD, "record.key");
const STATUS = column("status", "text", RECORD, "record.status");
const GROUP_STATUS = column("status", "text", "`groupStatusCode`", "record.status");
const SHARE_ID = column("share_id", "text", RECORD, "facts.share_id");
const stayNumber = (sql: string, also = "") =>
  column("stay_number", "integer", `position in \`roomStays[]\`, from 1${also}`, sql);
const numberOfRooms = (of: string) =>
  column("number_of_rooms", "integer", `the record, repeated on each of its ${of}`, "facts.number_of_rooms");
const dates = (prefix: string, source: string) => [
  column(`${prefix}arrival_date`, "date", source, "record.from_date"),
  column(`${prefix}departure_date`, "date", source, "record.to_date"),
];
const RESERVATION_DATES = dates("reservation_", "the first arrival and last departure of the reservation");

/** The rooms of a stay on a date that so many stays of its reservation cover, in the turn in which they get rooms (docs/figures.md). */
const ROOMS = `case
            when turn > greatest(coalesce(facts.number_of_rooms, 1), case when facts.share_id is null then 0 else 1 end) then 0
            when turn = 1 then greatest(greatest(coalesce(facts.number_of_rooms, 1), 1) - stays::integer + 1, 1)
            else 1
          end`;

/** Whether an earlier stay of the reservation is the same, but for what figures do not read. */
const IS_REPEAT = `row_number() over (
                partition by unnested.arrival_date, unnested.departure_date, unnested.room_type_code, unnested.booked_room_type_code,
                  unnested.market_segment_code, unnested.group_block_code, unnested.rate_code, unnested.currency_code,
                  greatest(unnested.number_of_adults, 0), greatest(unnested.number_of_children, 0)
                order by unnested.place
              ) > 1 as is_repeat`;

/**
 * What insight counts of a reservation (docs/contract.md#size-limits-of-insight), as the ledger does: `size.is_counted`, whether anything;
 * `revenue.leaves_rates`, whether rates (`changesTooOften`).
 */
const LIMITS = `cross join lateral (
        select coalesce(max(nights), 0) <= ${STAY_NIGHTS_MAX} and coalesce(sum(nights), 0) <= ${RESERVATION_NIGHTS_MAX} as is_counted,
          count(*) filter (where nights > 0) as stays
        from (
          select greatest(departure_date - arrival_date, 0) as nights
          from unnest(facts.arrival_date, facts.departure_date) as sent (arrival_date, departure_date)
        ) as stay
      ) as size
      cross join lateral (
        select coalesce(sum(within.changes), 0) <= 2 * (size.stays + coalesce(max(posted.days), 0)) + ${CHANGES_OF_ANY} as leaves_rates
        from (
          select day, count(*) over () as days, lag(day) over dates is distinct from day - 1 as begins,
            lead(day) over dates is distinct from day + 1 as ends
          from (
            select sent.revenue_date as day
            from unnest(
              case when cardinality(facts.arrival_date) > 1 and cardinality(facts.revenue_date) > 1 then facts.revenue_date end,
              facts.net_room_revenue
            ) as sent (revenue_date, net_room_revenue)
            where sent.revenue_date is not null and sent.net_room_revenue is not null
            group by sent.revenue_date
          ) as reported
          window dates as (order by day)
        ) as posted
        cross join lateral (
          select count(*) filter (where posted.begins and stay.arrival_date < posted.day and posted.day < stay.departure_date)
            + count(*) filter (where posted.ends and stay.arrival_date <= posted.day and posted.day + 1 < stay.departure_date) as changes
          from unnest(facts.arrival_date, facts.departure_date) as stay (arrival_date, departure_date)
        ) as within
      ) as revenue`;

/** A date that a record lists more than once has the sum of its amounts. */
const daySum = ({ name, type }: FactColumn) =>
  `${type === "numeric" || type === "integer" ? "sum" : "min"}(sent.${name}) as ${name}`;

const STAY_NIGHTS = `${LIMITS}
      cross join lateral (
        -- All of one reservation's nights at once, so that dates meet their revenue in a hash join.
        select stay_date.*, ${list(RATE_VALUES, "rate.")}, day.net_room_revenue is not null as has_daily_revenue,
          ${DAY_VALUES.map(({ name }) => `case when turn = 1 then day.${name} end as ${name}`).join(",\n          ")},
          ${ROOMS} as rooms
        from (
          select stay.*, stay.arrival_date + nights.passed as occupancy_date,
            row_number() over (
              partition by stay.arrival_date + nights.passed order by stay.is_repeat, stay.arrival_date desc, stay.stay_number
            ) as turn,
            count(*) over (partition by stay.arrival_date + nights.passed) as stays
          from (
            select ${list(STAY, "unnested.")}, unnested.place::integer as stay_number,
              ${IS_REPEAT}
            from ${rowsOf(STAY, "unnested")}
          ) as stay
          cross join lateral generate_series(
            0, case when size.is_counted then stay.departure_date - stay.arrival_date - 1 end
          ) as nights (passed)
        ) as stay_date
        left join (
          select sent.revenue_date, ${DAY_VALUES.map(daySum).join(", ")}
          from unnest(${list(DAY, "facts.")}) as sent (${list(DAY)})
          group by sent.revenue_date
        ) as day on day.revenue_date = stay_date.occupancy_date
        left join lateral (
          select ${list(RATE_VALUES, "sent.")}
          from ${rowsOf(RATE, "sent")}
          where sent.rate_stay_index = stay_date.stay_number - 1
            and stay_date.occupancy_date between coalesce(sent.rate_start_date, '-infinity') and coalesce(sent.rate_end_date, 'infinity')
          order by sent.place desc
          limit 1
        ) as rate on true
      ) as night`;

const ROOM_REVENUE_OF_DAYS = `select sent.revenue_date, sum(sent.net_room_revenue) as net_room_revenue
          from unnest(facts.revenue_date, facts.net_room_revenue) as sent (revenue_date, net_room_revenue)
          group by sent.revenue_date`;

/** What a row of a stay without a night is made of. */
const DAY_USE = [
  ...STAY.filter(({ name }) => ["arrival_date", "departure_date"].includes(name)),
  ...STAY_CODES,
];
const DAY_USE_GUESTS = STAY.filter(({ name }) => ["number_of_adults", "number_of_children"].includes(name));

/** Part 1: day-use stays. Part 2: dates with revenue outside the stays. Neither a union nor `exists`: Citus pushes down none of table functions. */
const REVENUE_WITHOUT_NIGHT = `${LIMITS}
      cross join lateral (
        select ${DAY_USE.map(({ name }) => `case when part.number = 1 then stay.${name} else facts.${name}[1] end as ${name}`).join(", ")},
          coalesce(stay.stay_number, 1) as stay_number, coalesce(stay.rooms, 0) as rooms,
          case when part.number = 1 then 'dayUse' else 'outsideStay' end as cause,
          coalesce(outside.revenue_date, stay.arrival_date) as occupancy_date,
          coalesce(outside.net_room_revenue, stay.net_room_revenue) as net_room_revenue,
          coalesce(outside.net_room_revenue, stay.room_revenue) as room_revenue
        from generate_series(1, 2) as part (number)
        left join lateral (
          select ${list(DAY_USE, "stay.")}, stay.stay_number, stay.rooms,
            case when stay.turn = 1 and not is_night then day.net_room_revenue end as net_room_revenue,
            case
              when day.net_room_revenue is not null then case when stay.turn = 1 and not is_night then day.net_room_revenue end
              when stay.rooms > 0 and revenue.leaves_rates then rate.rate_value * stay.rooms
            end as room_revenue
          from (
            select counted.*, ${ROOMS} as rooms
            from (
              select named.*, count(*) over (partition by named.arrival_date) as stays,
                row_number() over (partition by named.arrival_date order by named.is_repeat, named.stay_number) as turn
              from (
                select ${list(DAY_USE, "unnested.")}, unnested.place::integer as stay_number,
                  ${IS_REPEAT}
                from ${rowsOf([...DAY_USE, ...DAY_USE_GUESTS], "unnested")}
                where unnested.departure_date = unnested.arrival_date
              ) as named
            ) as counted
          ) as stay
          cross join lateral (
            select count(*) > 0 as is_night
            from unnest(facts.arrival_date, facts.departure_date) as other (arrival_date, departure_date)
            where other.arrival_date <= stay.arrival_date and stay.arrival_date < other.departure_date
          ) as other
          left join (
            ${ROOM_REVENUE_OF_DAYS}
          ) as day on day.revenue_date = stay.arrival_date
          left join lateral (
            select sent.rate_value
            from unnest(facts.rate_stay_index, facts.rate_start_date, facts.rate_end_date, facts.rate_value
            ) with ordinality as sent (stay_index, start_date, end_date, rate_value, place)
            where sent.stay_index = stay.stay_number - 1
              and stay.arrival_date between coalesce(sent.start_date, '-infinity') and coalesce(sent.end_date, 'infinity')
            order by sent.place desc
            limit 1
          ) as rate on true
        ) as stay on part.number = 1
        left join lateral (
          select *
          from (
          select day.revenue_date, day.net_room_revenue, count(*) over () as dates
          from (
            ${ROOM_REVENUE_OF_DAYS}
          ) as day
          cross join lateral (
            select count(*) as stays
            from unnest(facts.arrival_date, facts.departure_date) as stay (arrival_date, departure_date)
            where day.revenue_date = stay.arrival_date
              or day.revenue_date > stay.arrival_date and day.revenue_date < stay.departure_date
          ) as covered
          where day.net_room_revenue <> 0 and covered.stays = 0
          ) as beyond
          where beyond.dates <= ${STAY_NIGHTS_MAX}
        ) as outside on part.number = 2
        where stay.stay_number is not null or outside.revenue_date is not null
      ) as extra
      where size.is_counted and (extra.rooms > 0 or extra.room_revenue is not null)`;

/** Guests in the rooms of a stay on a night, at most as many as the ledger holds. */
const guestsOf = (guests: "adults" | "children") =>
  `least(greatest(night.number_of_${guests}, 0)::bigint * night.rooms, 2147483647)`;

const itemsOf = (facts: Facts, as: string) =>
  `cross join lateral unnest(${list(facts, "facts.")}) as ${as} (${list(facts)})`;

export const RELATIONS: readonly Relation[] = [
  {
    name: "room_type_inventory",
    resource: "inventories",
    meaning: "Rooms of each room type, property and occupancy date.",
    columns: [
      column("occupancy_date", "date", RECORD, "facts.occupancy_date"),
      ...columnsOf(
        without(ROOM, "is_virtual"),
        "room",
        "`roomTypeInventories[]`, `virtualRoomTypeInventories[]`",
      ),
      column("is_virtual", "boolean", "true for `virtualRoomTypeInventories[]`", "room.is_virtual"),
    ],
    from: itemsOf(ROOM, "room"),
  },
  {
    name: "reservation",
    resource: "reservations",
    meaning: "Reservations, one row each.",
    columns: [
      RESERVATION_ID,
      STATUS,
      ...dates("", "the first arrival and last departure of its stays"),
      ...columnsOf(RESERVATION, "facts", RECORD),
    ],
    from: "",
  },
  {
    name: "room_stay",
    resource: "reservations",
    meaning: "Room stays of reservations, one row each.",
    columns: [
      RESERVATION_ID,
      stayNumber("stay.place::integer"),
      STATUS,
      numberOfRooms("stays"),
      column(
        "nights",
        "integer",
        "days from arrival to departure; 0 for day use",
        "stay.departure_date - stay.arrival_date",
      ),
      ...columnsOf(STAY, "stay", STAY_OF),
    ],
    from: `cross join lateral ${rowsOf(STAY, "stay")}`,
  },
  {
    name: "stay_night",
    resource: "reservations",
    meaning:
      "Nights of room stays, one row each, with the rooms, guests and revenue that figures count (docs/figures.md), before shares.",
    columns: [
      RESERVATION_ID,
      stayNumber("night.stay_number"),
      column(
        "occupancy_date",
        "date",
        "each date from the stay's arrival to the day before its departure",
        "night.occupancy_date",
      ),
      STATUS,
      numberOfRooms("nights"),
      SHARE_ID,
      ...RESERVATION_DATES,
      ...columnsOf(STAY, "night", STAY_OF),
      ...columnsOf(
        RATE_VALUES,
        "night",
        "the last entry of `rates[]` whose range covers the date, `endDate` included; a missing bound is open",
      ),
      ...columnsOf(DAY_VALUES, "night", `${DAYS} of the date, on the first of the stays that cover it`),
      column(
        "rooms",
        "integer",
        "the rooms that the stay has on the night ([rooms of a reservation](figures.md#rooms-of-a-reservation))",
        "night.rooms",
      ),
      column("adults", "bigint", "guests in these rooms", guestsOf("adults")),
      column("children", "bigint", "guests in these rooms", guestsOf("children")),
      column(
        "room_revenue",
        "numeric",
        "[room revenue](figures.md#revenue) of the night: daily revenue on the first stay, otherwise the rate times `rooms`",
        `case
          when night.has_daily_revenue then case when night.rooms > 0 or night.net_room_revenue <> 0 then night.net_room_revenue end
          when night.rooms > 0 and revenue.leaves_rates then night.rate_value * night.rooms
        end`,
      ),
      column(
        "gross_room_revenue",
        "numeric",
        "the gross rate times `rooms`",
        "case when night.rooms > 0 and revenue.leaves_rates then night.gross_rate_value * night.rooms end",
      ),
    ],
    from: STAY_NIGHTS,
  },
  {
    name: "revenue_without_night",
    resource: "reservations",
    meaning:
      "Revenue that belongs to no room night (docs/figures.md): day use, one row a stay, and dates outside the stay.",
    columns: [
      RESERVATION_ID,
      stayNumber("extra.stay_number", "; 1 outside the stay"),
      column("occupancy_date", "date", "the date of the revenue", "extra.occupancy_date"),
      column(
        "cause",
        "text",
        "`dayUse` or `outsideStay`. Fees are `net_room_revenue` of `daily_revenue` under statuses that are not on the books",
        "extra.cause",
      ),
      STATUS,
      SHARE_ID,
      ...RESERVATION_DATES,
      ...columnsOf(STAY_CODES, "extra", STAY_OF),
      column("rooms", "integer", "day-use rooms", "extra.rooms"),
      column(
        "net_room_revenue",
        "numeric",
        `${DAYS} of the date, on the first day-use stay`,
        "extra.net_room_revenue",
      ),
      column(
        "room_revenue",
        "numeric",
        "the same, otherwise the rate of the date times `rooms`",
        "extra.room_revenue",
      ),
    ],
    from: REVENUE_WITHOUT_NIGHT,
  },
  {
    name: "daily_revenue",
    resource: "reservations",
    meaning: "Revenue of reservations by date, one row each, also of dates that are no night of a stay.",
    columns: [
      RESERVATION_ID,
      column("occupancy_date", "date", DAYS, "sent.revenue_date"),
      STATUS,
      ...columnsOf(DAY_VALUES, "sent", DAYS),
    ],
    from: itemsOf(DAY, "sent"),
  },
  {
    name: "group_block_master",
    resource: "groups",
    meaning: "Group block masters, one row each.",
    columns: [GROUP_CODE, GROUP_STATUS, ...columnsOf(GROUP, "facts", RECORD)],
    from: "",
  },
  {
    name: "group_block_night",
    resource: "groups",
    meaning: "Group blocks: rooms of a room type held for a group on a night.",
    columns: [GROUP_CODE, GROUP_STATUS, ...columnsOf(BLOCK, "block", BLOCKS)],
    from: itemsOf(BLOCK, "block"),
  },
];
