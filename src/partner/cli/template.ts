import { csvCell } from "#contract/csv-cell.ts";
import { RESOURCES } from "#contract/resource.ts";
import { choice, flag, type Noun, required, verb } from "../../cli/command.ts";
import { columnsOf, examplesOf } from "../csv-records.ts";

const own = verb({
  summary: "print a CSV template of a resource",
  details:
    "The first line names the fields, the others are examples. Remove the columns that you do not need; a name that occurs again belongs to " +
    "the next item of its list, and rows with the same key and source time are one record.",
  args: { resource: required(choice("RESOURCE", RESOURCES, "whose records")) },
  options: {
    all: flag("every field (default: the required ones and those that figures use)"),
    header: flag("without the examples"),
  },
  examples: ["template reservations > bookings.csv", "template inventories --header"],
  json: '{"resource", "columns", "examples"}',
  run: async ({ resource, all, header }, { output }) => {
    const columns = columnsOf(resource, all);
    const examples = header ? [] : examplesOf(resource, columns);
    const lines = [columns, ...examples].map((cells) => cells.map(csvCell).join(","));
    output.result({ resource, columns, ...(header ? {} : { examples }) }, lines);
  },
});

export const command: Noun = { own };
