import type { LabelItem, LabelsAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { writeCount, writeMany } from "../../field/format.ts";
import { Button } from "../../parts/button.tsx";
import { type Deed, useDeed } from "../../parts/deed.tsx";
import { AddressChoice, Choice } from "../../parts/field.tsx";
import { List, useList } from "../../parts/list.tsx";
import { Section } from "../../parts/page.tsx";
import { Empty, Failure, Notice } from "../../parts/states.tsx";
import type { Column } from "../../parts/table.tsx";
import { Badge, orDash } from "../../parts/values.tsx";
import { useFilters } from "../../routing/filters.ts";

const _LIMIT = 50;

/** The status labels of a client code: whether rooms under them count on the books. */
export function Labels({ clientCode }: { readonly clientCode: string }) {
  const by = useFilters().filters.get("labels") === "unmapped" ? "unmapped" : undefined;
  const asked = useList<LabelsAnswer>("labels", { clientCode, by });
  const deed = useDeed();
  return (
    <Section
      title={`Status labels of ${clientCode}`}
      aside={<p>Rooms under a label that deducts count on the books.</p>}
    >
      <Failure error={deed.error} />
      {asked.data === undefined ? null : <UnmappedNotice {...asked.data.unmapped} />}
      <search className="filters">
        <AddressChoice name="labels" label="Labels" options={{ all: "All", unmapped: "Unmapped" }} />
      </search>
      <List
        asked={asked}
        caption={`Status labels of ${clientCode}`}
        columns={columnsOf(clientCode, deed)}
        keyOf={({ resource, label }) => `${resource} ${label}`}
        noun={["label"]}
        empty={<Empty title={by === undefined ? "No record has a label yet" : "Every label is mapped"} />}
        lines={6}
      />
    </Section>
  );
}

function UnmappedNotice({ labels, records }: LabelsAnswer["unmapped"]) {
  if (labels === 0) return null;
  return (
    <Notice tone="warn" title={`${writeMany(labels, "label is", "labels are")} not mapped`}>
      {writeMany(records, "record")} under {labels === 1 ? "it" : "them"} {records === 1 ? "is" : "are"} not
      on the books until you set whether {labels === 1 ? "it deducts" : "they deduct"}.
    </Notice>
  );
}

function columnsOf(clientCode: string, { busy, run }: Deed): readonly Column<LabelItem>[] {
  const set = ({ resource, label }: LabelItem, deducts: boolean) =>
    run(() => tell("labels/set", { clientCode, resource, label, deducts }), `${label} is changed.`);
  const unset = ({ resource, label }: LabelItem) =>
    run(() => tell("labels/unset", { clientCode, resource, label }), `${label} is changed.`);
  return [
    { head: "Label", lead: true, cell: ({ label }) => <span className="break">{label}</span> },
    { head: "Resource", cell: ({ resource }) => resource },
    { head: "Current records", end: true, cell: ({ records }) => writeCount(records) },
    { head: "Known as", cell: ({ canonical }) => orDash(canonical) },
    { head: "Set by", cell: ({ by }) => <SetBy by={by} /> },
    {
      head: "Deducts",
      cell: (item) => (
        <Choice
          label={`Whether ${item.label} deducts`}
          labelUnseen
          value={item.by === "unmapped" ? "" : item.deducts ? "yes" : "no"}
          options={{ yes: "Yes", no: "No" }}
          onChange={(next) => set(item, next === "yes")}
        />
      ),
    },
    {
      head: "Change",
      end: true,
      action: true,
      cell: (item) =>
        item.by === "mapping" ? (
          <Button kind="quiet" busy={busy} onClick={() => unset(item)}>
            Take it back
          </Button>
        ) : null,
    },
  ];
}

function SetBy({ by }: { readonly by: LabelItem["by"] }) {
  if (by === "unmapped") return <Badge tone="warn">unmapped</Badge>;
  return by === "mapping" ? <Badge tone="accent">mapping</Badge> : <span className="muted">default</span>;
}
