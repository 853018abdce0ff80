import { Link } from "wouter";
import type {
  Finding,
  NightReconciliationAnswer,
  NightReservationItem,
  PropertyCodes,
} from "../../contract.ts";
import { addressOf } from "../../data/call.ts";
import { useAnswer } from "../../data/queries.ts";
import { writeDate, writeMany, writeSigned } from "../../field/format.ts";
import { Button } from "../../parts/button.tsx";
import { Section } from "../../parts/page.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Badge, Disclosure, HistoryLink, orDash, RequestLink, Word } from "../../parts/values.tsx";
import { useFilters } from "../../routing/filters.ts";
import { usePointInTime } from "./insight-filters.tsx";

/** More reservations than any night of a hotel has. */
const LIMIT = 1000;

interface NightProps {
  readonly codes: PropertyCodes;
  readonly night: string;
}

/** One night taken apart: what may explain the difference, and every reservation that has the night. */
export function NightDrillDown({ codes, night }: NightProps) {
  const { change } = useFilters();
  const point = usePointInTime();
  const asked = useAnswer<NightReconciliationAnswer>(
    addressOf("insight/reconciliation/night", { ...codes, ...point, stayDate: night, limit: LIMIT }),
  );
  return (
    <Section
      title={writeDate(night)}
      aside={<Button onClick={() => change({ night: undefined })}>Close this night</Button>}
    >
      <Answered asked={asked} lines={6}>
        {(answer) => <Night answer={answer} codes={codes} />}
      </Answered>
    </Section>
  );
}

function Night({
  answer,
  codes,
}: {
  readonly answer: NightReconciliationAnswer;
  readonly codes: PropertyCodes;
}) {
  const { night, findings, reservations } = answer;
  return (
    <div className="stack">
      <p>
        Inventory reports <strong>{night.reported ?? "nothing"}</strong>, reservations come to{" "}
        <strong>{night.rebuilt}</strong>
        {night.difference === null ? null : (
          <>
            : <strong>{writeSigned(night.difference)}</strong>
          </>
        )}
        .{" "}
        {night.unpickedBlocks > 0
          ? `Groups hold ${writeMany(night.unpickedBlocks, "more room")} not picked up.`
          : ""}
      </p>
      {findings.length === 0 ? (
        <Empty title="Nothing differs on this night" />
      ) : (
        <Table
          caption="What may explain the difference, the likeliest first"
          rows={findings}
          keyOf={(finding) => JSON.stringify([finding.kind, finding.roomType, finding.records])}
          columns={findingColumns(codes)}
        />
      )}
      <Disclosure
        summary={`${answer.nextCursor === null ? "" : "The first "}${writeMany(reservations.length, "reservation")} with this night`}
      >
        <Table
          caption="Reservations with this night"
          narrow="scroll"
          rows={reservations}
          keyOf={(one) => JSON.stringify([one.reservationId, one.roomType, one.group])}
          columns={reservationColumns(codes)}
        />
      </Disclosure>
    </div>
  );
}

function findingColumns(codes: PropertyCodes): readonly Column<Finding>[] {
  return [
    { head: "Possible cause", lead: true, cell: ({ kind }) => <Word>{kind.replaceAll("-", " ")}</Word> },
    { head: "Why", prose: true, cell: ({ message }) => message },
    { head: "Room type", cell: ({ roomType }) => orDash(roomType) },
    { head: "Rooms", end: true, cell: ({ rooms }) => writeSigned(rooms) },
    {
      head: "Nights it fits",
      end: true,
      cell: ({ nights, nightsExplained }) => `${nightsExplained} of ${nights}`,
    },
    {
      head: "Records",
      cell: ({ records }) => (
        <span className="records">
          {records.slice(0, 4).map(({ resource, key, requestId, index }) => (
            <span key={`${requestId} ${index}`}>
              <HistoryLink codes={codes} resource={resource} of={key} />{" "}
              <Link className="small muted" to={`/requests/${requestId}/${index}`}>
                record
              </Link>
            </span>
          ))}
        </span>
      ),
    },
  ];
}

function reservationColumns(codes: PropertyCodes): readonly Column<NightReservationItem>[] {
  return [
    {
      head: "Reservation",
      lead: true,
      cell: ({ reservationId }) => <HistoryLink codes={codes} resource="reservations" of={reservationId} />,
    },
    { head: "Status", cell: (one) => <Status one={one} /> },
    { head: "Rooms", end: true, cell: ({ rooms }) => rooms },
    { head: "Counted", end: true, cell: ({ counted }) => counted },
    { head: "Room type", cell: ({ roomType }) => orDash(roomType) },
    { head: "Group", cell: ({ group }) => orDash(group) },
    { head: "Share", cell: ({ shareId }) => orDash(shareId) },
    { head: "Stay", cell: ({ arrival, departure }) => `${arrival} to ${departure}` },
    { head: "From", cell: (one) => <RequestLink {...one} /> },
  ];
}

function Status({ one: { label, deducts } }: { readonly one: NightReservationItem }) {
  if (label === null) return orDash(label);
  if (deducts === null) return <Badge tone="warn">{label}: unmapped</Badge>;
  return <Badge tone={deducts ? "accent" : "plain"}>{label}</Badge>;
}
