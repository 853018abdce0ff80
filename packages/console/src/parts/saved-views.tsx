import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useFilters } from "../routing/filters.ts";
import { Button } from "./button.tsx";
import { InputField } from "./field.tsx";
import { Disclosure } from "./values.tsx";

/** Filters of a page by their names, kept in this browser. They are of any property. */
type Views = Readonly<Record<string, string>>;

const OF_PROPERTY = ["clientCode", "propertyCode", "cursor"];
const storeOf = (path: string) => `bellhop-views:${path}`;

function readViews(path: string): Views {
  try {
    const views: unknown = JSON.parse(localStorage.getItem(storeOf(path)) ?? "{}");
    return typeof views === "object" && views !== null ? (views as Views) : {};
  } catch {
    return {};
  }
}

/** Views of the open page: its filters under a name. */
export function SavedViews() {
  const [path] = useLocation();
  const { filters } = useFilters();
  const [views, setViews] = useState(() => readViews(path));
  const [name, setName] = useState("");
  const keep = (next: Views) => {
    localStorage.setItem(storeOf(path), JSON.stringify(next));
    setViews(next);
  };
  const save = () => {
    if (name.trim() === "") return;
    const saved = new URLSearchParams(filters);
    for (const each of OF_PROPERTY) saved.delete(each);
    keep({ ...views, [name.trim()]: saved.toString() });
    setName("");
  };
  const addressFor = (view: string) => {
    const search = new URLSearchParams(view);
    for (const each of ["clientCode", "propertyCode"]) search.set(each, filters.get(each) ?? "");
    return `${path}?${search}`;
  };
  const names = Object.keys(views);
  return (
    <Disclosure summary={names.length === 0 ? "Save this view" : `Saved views (${names.length})`}>
      <div className="filters">
        {names.map((each) => (
          <span key={each} className="badges">
            <Link to={addressFor(views[each] ?? "")}>{each}</Link>
            <Button
              onClick={() =>
                keep(Object.fromEntries(Object.entries(views).filter(([other]) => other !== each)))
              }
            >
              Remove<span className="unseen"> {each}</span>
            </Button>
          </span>
        ))}
        <InputField label="Name of the view" value={name} onChange={setName} />
        <Button onClick={save}>Save</Button>
      </div>
    </Disclosure>
  );
}
