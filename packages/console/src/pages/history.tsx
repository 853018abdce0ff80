import type { PageOf, PropertyCodes, Resource, VersionItem } from "../contract.ts";
import { historyPath, propertyPath, writeMany } from "../field/format.ts";
import { ExportButtons, Pager, useList } from "../parts/list.tsx";
import { Answered, Empty, Page } from "../parts/page.tsx";
import { ClockChoice, usePropertyView } from "../parts/property-view.tsx";
import { RecordChanges } from "../parts/record-changes.tsx";
import { Badge, Disclosure, Instant, PayloadView, RequestLink } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";
import { ofProperty } from "./property/property-page.tsx";

const KINDS: Readonly<Record<Resource, string>> = {
  inventories: "Inventory of",
  reservations: "Reservation",
  groups: "Group",
};

const SOURCE_TIMES: ReadonlySet<string> = new Set(["/createDateTime", "/lastModifiedDateTime"]);

export const HistoryPage = ofProperty(function OfRecord({ codes }) {
  const { filters } = useFilters();
  return <History key={`${filters.get("resource")} ${filters.get("key")}`} codes={codes} />;
});

function History({ codes }: { codes: PropertyCodes }) {
  const { filters } = useFilters();
  const { name } = usePropertyView();
  const named = filters.get("resource");
  const resource = (Object.keys(KINDS) as Resource[]).find((each) => each === named) ?? "reservations";
  const key = filters.get("key") ?? "";
  const asked = useList<PageOf<VersionItem>>("history", { resource, ...codes, key });
  return (
    <Page
      title={`${KINDS[resource]} ${key}`}
      lead={
        <>
          <span className="about">
            <ClockChoice />
          </span>
          What changed with each version, newest first by the sender's clock.
        </>
      }
      crumbs={[
        { to: "/", text: "Portfolio" },
        { to: propertyPath("/property", codes), text: name ?? `${codes.clientCode} / ${codes.propertyCode}` },
      ]}
      visit={
        asked.data === undefined
          ? undefined
          : {
              to: historyPath(codes, resource, key),
              text: `${KINDS[resource]} ${key}`,
              note: name ?? `${codes.clientCode} / ${codes.propertyCode}`,
            }
      }
      actions={<ExportButtons name={`history-${key}`} of={asked.whole} csv={CSV} csvRow={csvLines} />}
    >
      <Answered asked={asked} lines={8}>
        {(answer) =>
          answer.items.length === 0 ? (
            <Empty title="No version of this record is known">
              A quarantined record has none until it is released.
            </Empty>
          ) : (
            <Versions answer={answer} />
          )
        }
      </Answered>
    </Page>
  );
}

function Versions({ answer: { items, nextCursor } }: { answer: PageOf<VersionItem> }) {
  const { filters } = useFilters();
  const isFirstPage = filters.get("cursor") === null;
  const newestFirst = items.toReversed();
  return (
    <>
      <ol className="timeline">
        {newestFirst.map((version, place) => (
          <Version
            key={`${version.requestId}/${version.index}`}
            version={version}
            isCurrent={place === 0 && nextCursor === null}
            isFirst={isFirstPage && place === newestFirst.length - 1}
          />
        ))}
      </ol>
      <Pager nextCursor={nextCursor} shown={writeMany(items.length, "version")} />
    </>
  );
}

interface VersionProps {
  readonly version: VersionItem;
  readonly isCurrent: boolean;
  readonly isFirst: boolean;
}

function Version({ version, isCurrent, isFirst }: VersionProps) {
  const { outcome } = version;
  // The source time is in the heading.
  const changes = version.changes.filter(({ pointer }) => !SOURCE_TIMES.has(pointer));
  const isCompared = version.changeTotal !== null;
  const changeTotal = (version.changeTotal ?? 0) - (version.changes.length - changes.length);
  const isQuiet = !isFirst && isCompared && changeTotal === 0;
  return (
    <li data-current={isCurrent ? "" : undefined} data-quiet={isQuiet ? "" : undefined}>
      <div className="when">
        <strong>
          <Instant at={version.sourceTime} />
        </strong>
        {version.status !== null && <Badge>{version.status}</Badge>}
        {isCurrent && <Badge tone="accent">current</Badge>}
        {version.late ? <Badge tone="warn">late</Badge> : null}
        {outcome === "applied" || outcome === "stale" ? null : <Badge>{outcome}</Badge>}
        <span className="muted">
          received <Instant at={version.receivedAt} /> in <RequestLink {...version} />
        </span>
      </div>
      {isFirst && <p className="muted">First known version.</p>}
      {isQuiet && <p className="muted">Only the source time changed.</p>}
      {!isCompared && (
        <p className="muted">
          Not compared with the version before: one of the two is larger than 256 kB, has more than 16,000
          values, or is no longer kept.
        </p>
      )}
      <RecordChanges changes={changes} total={changeTotal} />
      {version.payload === null ? (
        <p className="muted">The payload is past its retention term.</p>
      ) : (
        <Disclosure summary="Payload">
          <PayloadView payload={version.payload} marked={changes.map(({ pointer }) => pointer)} />
        </Disclosure>
      )}
    </li>
  );
}

const CSV = "sourceTime receivedAt requestId index outcome status late pointer before after";

/** One line per change. */
function csvLines(version: VersionItem): object | readonly object[] {
  return version.changes.length === 0
    ? version
    : version.changes.map((change) => ({ ...version, ...change }));
}
