import { useState } from "react";
import { Link, useLocation } from "wouter";
import { readStored, store } from "../data/stored.ts";
import { useFilters } from "../routing/filters.ts";
import { Button } from "./button.tsx";
import { InputField } from "./field.tsx";
import { Disclosure } from "./values.tsx";

/** Named filters of a page, stored in this browser. */
type Views = Readonly<Record<string, string>>;

/** A view of a property page applies to every property. */
const codesOf = (path: string) => (path.startsWith("/property") ? ["clientCode", "propertyCode"] : []);
const storeOf = (path: string) => `bellhop-views:${path}`;

function readViews(path: string): Views {
  try {
    const views: unknown = JSON.parse(readStored(storeOf(path)) ?? "{}");
    return typeof views === "object" && views !== null ? (views as Views) : {};
  } catch {
    return {};
  }
}

/** Saved filters of the open page. Renders nothing without filters and views. */
export function SavedViews() {
  const [path] = useLocation();
  const { filters } = useFilters();
  const [views, setViews] = useState(() => readViews(path));
  const [name, setName] = useState("");
  const keep = (next: Views) => {
    store(storeOf(path), JSON.stringify(next));
    setViews(next);
  };
  const codes = codesOf(path);
  const open = new URLSearchParams(filters);
  for (const each of ["cursor", ...codes]) open.delete(each);
  const save = () => {
    if (name.trim() === "") return;
    keep({ ...views, [name.trim()]: open.toString() });
    setName("");
  };
  const addressFor = (view: string) => {
    const search = new URLSearchParams(view);
    for (const each of codes) search.set(each, filters.get(each) ?? "");
    return `${path}?${search}`;
  };
  const names = Object.keys(views);
  if (names.length === 0 && open.size === 0) return null;
  return (
    <div className="saved-views">
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
    </div>
  );
}
