import type { RecordField } from "../contract.ts";
import { Table } from "./list.tsx";

/** The fields of a record that Bellhop reads, with their meaning: whatever the record schema notes appears here. */
export function RecordFields({ fields }: { readonly fields: readonly RecordField[] }) {
  return (
    <Table
      caption="Fields of this record"
      rows={fields}
      keyOf={({ path }) => path}
      columns={[
        { head: "Field", lead: true, cell: ({ path }) => <code className="break">{path}</code> },
        { head: "Value", cell: ({ value }) => <span className="break">{value}</span> },
        { head: "Meaning", prose: true, cell: ({ description }) => description },
      ]}
    />
  );
}
