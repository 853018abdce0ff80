import { csvCell } from "#contract/csv-cell.ts";
import { RESOURCES } from "#contract/resource.ts";
import { choice, flag, type Noun, required, verb } from "../../cli/command.ts";
import { columnsOf, exampleOf } from "../csv-records.ts";

const own = verb({
  summary: "print a CSV template of a resource",
  details:
    "The first line names the fields, the second is an example. Remove the columns that you do not need; a name that occurs again belongs to " +
    "the next item of its list, and rows with the same key and source time are one record.",
  args: { resource: required(choice("RESOURCE", RESOURCES, "inventories, reservations or groups")) },
  options: {
    all: flag("every field (default: the required ones and those that figures use)"),
    header: flag("without the example"),
  },
  examples: ["template reservations > bookings.csv", "template inventories --header"],
  json: '{"resource", "columns", "example"}',
  run: async ({ resource, all, header }, { output }) => {
    const columns = columnsOf(resource, all);
    const example = columns.map((name) => exampleOf(resource, name));
    const lines = [columns.join(","), ...(header ? [] : [example.map(csvCell).join(",")])];
    output.result({ resource, columns, ...(header ? {} : { example }) }, lines);
  },
});

export const command: Noun = { own };
