import { useState } from "react";
import { askForCsv, CallError } from "../data/call.ts";
import { download } from "../data/download.ts";
import { toCsv } from "../field/csv.ts";
import { Button } from "./button.tsx";
import { useSay } from "./toast.tsx";

interface ExportButtonProps {
  /** Of the file, without its ending. */
  readonly name: string;
  /** What is shown, as rows: the first one is the head. */
  readonly rows: () => readonly (readonly (string | number | null)[])[];
}

/** Saves what the page shows as CSV. */
export function ExportButton({ name, rows }: ExportButtonProps) {
  return <Button onClick={() => download(`${name}.csv`, toCsv(rows()))}>Export CSV</Button>;
}

/** Saves the answer of an address as the service writes it in CSV. */
export function CsvButton({ name, address }: { readonly name: string; readonly address: string | null }) {
  const [busy, setBusy] = useState(false);
  const say = useSay();
  const save = async () => {
    if (address === null) return;
    setBusy(true);
    try {
      download(`${name}.csv`, await askForCsv(address));
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      say(`It could not be exported: ${error.message}`);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button busy={busy} onClick={() => void save()}>
      Export CSV
    </Button>
  );
}
