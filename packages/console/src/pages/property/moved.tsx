import type { NightReconciliationAnswer, NightReservationItem, PropertyCodes } from "../../contract.ts";
import { addressOf, askPages, useAnswers } from "../../data/queries.ts";
import { writeDate, writeMany, writeSigned } from "../../field/format.ts";
import { Answered, Empty, Section } from "../../parts/page.tsx";
import { Instant } from "../../parts/values.tsx";
import { usePointInTime } from "./property-page.tsx";
import { ReservationsTable } from "./reconciliation.tsx";

/** More than any night has. */
const PAGES_MAX = 10;
const ROWS_A_PAGE = 1_000;

/** All reservations of a night. */
async function askReservations(
  address: string,
  signal?: AbortSignal,
): Promise<readonly NightReservationItem[]> {
  const rows: NightReservationItem[] = [];
  for await (const page of askPages<NightReconciliationAnswer>(address, PAGES_MAX, signal))
    rows.push(...page.reservations);
  return rows;
}

interface MovedProps {
  readonly codes: PropertyCodes;
  readonly night: string;
  readonly since: string;
  /** Null: now. */
  readonly until: string | null;
}

/** The reservations whose counted rooms of a night differ between two instants: a pickup, one by one. */
export function MovedReservations({ codes, night, since, until }: MovedProps) {
  const { clock } = usePointInTime();
  const addressAt = (asOf: string | undefined) =>
    addressOf("insight/reconciliation/night", { ...codes, stayDate: night, clock, asOf, limit: ROWS_A_PAGE });
  const asked = useAnswers([addressAt(since), addressAt(until ?? undefined)], askReservations);
  return (
    <Section title={`Reservations that moved ${writeDate(night)}`}>
      <Answered asked={asked} lines={4}>
        {([before = [], after = []]) => {
          const { rows, changes } = movedRows(before, after);
          if (rows.length === 0)
            return (
              <Empty title="No reservation moved this night">
                Since <Instant at={since} />.
              </Empty>
            );
          const sum = [...changes.values()].reduce((all, one) => all + one, 0);
          return (
            <>
              <ReservationsTable
                caption={`Reservations that moved the night ${writeDate(night)}`}
                codes={codes}
                rows={rows}
                counted={{ head: "Change", cell: (row) => writeSigned(changes.get(row) ?? 0) }}
              />
              <p className="small muted">
                {writeSigned(sum)} rooms of {writeMany(rows.length, "reservation")} since{" "}
                <Instant at={since} />.
              </p>
            </>
          );
        }}
      </Answered>
    </Section>
  );
}

/** The newest row of each reservation whose counted rooms changed, with the change; the largest first. */
function movedRows(before: readonly NightReservationItem[], after: readonly NightReservationItem[]) {
  const rooms = new Map<string, number>();
  const rowOf = new Map<string, NightReservationItem>();
  for (const [rows, sign] of [
    [before, -1],
    [after, 1],
  ] as const)
    for (const row of rows) {
      rooms.set(row.reservationId, (rooms.get(row.reservationId) ?? 0) + sign * row.counted);
      rowOf.set(row.reservationId, row);
    }
  const changes = new Map<NightReservationItem, number>();
  for (const [id, row] of rowOf) if (rooms.get(id)) changes.set(row, rooms.get(id) ?? 0);
  const rows = [...changes.keys()].sort(
    (one, other) => Math.abs(changes.get(other) ?? 0) - Math.abs(changes.get(one) ?? 0),
  );
  return { rows, changes };
}
