"""Reads an export of Bellhop with DuckDB and pandas (pip install duckdb pandas).

    python read_export.py /data/bellhop ACME PARIS01 CONFIRMED IN_HOUSE CHECKED_OUT

prints what is on the books of each night and room type. In a notebook: `from read_export import open_export`.
"""

# %%
import json
import sys
from pathlib import Path

import duckdb

READERS = {"parquet": "read_parquet", "csv": "read_csv", "ndjson": "read_json"}
TYPES = {"text": "varchar", "boolean": "boolean", "integer": "integer", "date": "date", "timestamp": "timestamptz", "amount": "decimal(18, 4)"}


def files_of(manifest, folder, table):
    """The files that the manifest lists; a run in progress may have written others."""
    files = [file for written in manifest["passes"] for file in written["files"] if file["table"] == table]
    return [str(Path(folder) / file["path"]) for file in files]


def open_export(folder):
    """Returns a DuckDB connection with a view of each table that was exported, such as records and nights."""
    manifest = json.loads((Path(folder) / "manifest.json").read_text())
    format = manifest["basis"]["format"]
    connection = duckdb.connect()
    for table, described in manifest["tables"].items():
        columns = described["columns"]
        files = files_of(manifest, folder, table)
        # The pass is in the file's path. Parquet has types; in the other formats every value is first read as a string.
        options = "hive_partitioning = true, hive_types = {'pass': bigint}"
        if format != "parquet":
            options += f", columns = { {column['name']: 'varchar' for column in columns} }"
        rows = f"{READERS[format]}({files}, {options})"
        if not files:
            # No rows have been exported yet.
            rows = "(select " + "".join(f"null as {column['name']}, " for column in columns) + "null::bigint as pass limit 0)"
        values = ", ".join(f"{column['name']}::{TYPES[column['type']]} as {column['name']}" for column in columns)
        source = f"select {values}, pass from {rows}"
        if "resource" in described:
            # Rows written with the newest row of their record, such as nights with that of their reservation.
            connection.execute(
                f"""create view {table} as
                select own.* from ({source}) as own
                join records on records.resource = '{described["resource"]}' and records.client_code = own.client_code
                  and records.property_code = own.property_code and records.key = own.{described["key"][-1]}
                  and records.pass = own.pass"""
            )
        else:
            # Of rows with the same key, the one of the newest pass counts.
            key = ", ".join(described["key"])
            connection.execute(
                f"create view {table} as {source} qualify row_number() over (partition by {key} order by pass desc) = 1"
            )
    return connection


# %%
# A share counts once, with its largest number of rooms, under the smallest reservation id that has a room.
ON_THE_BOOKS = """
with counted as (
  select *,
    sum(rooms) over reservation as named,
    row_number() over (reservation order by room_type_code, booked_room_type_code, market_segment_code,
      group_block_code, rate_code, channel, currency_code) as place
  from nights
  where client_code = $client and property_code = $property and list_contains($statuses, status)
    -- Other rows are revenue without a room night.
    and (cause is null or cause = 'posted')
  window reservation as (partition by share_id, stay_date, reservation_id)
), sharing as (
  select *,
    max(named) over (partition by share_id, stay_date) as most,
    min(reservation_id) filter (named <> 0) over (partition by share_id, stay_date) as holder
  from counted
)
select stay_date, room_type_code, currency_code,
  sum(case
    when share_id is null then rooms
    when reservation_id <> holder then 0
    when place = 1 then rooms + most - named
    else rooms
  end)::bigint as rooms,
  sum(adults)::bigint as adults, sum(children)::bigint as children,
  sum(room_revenue) as room_revenue, sum(gross_room_revenue) as gross_room_revenue
from sharing
group by all
order by all
"""


def on_the_books(connection, client, property, statuses):
    """Returns a pandas data frame. `statuses`: the statuses that count on the books, verbatim."""
    parameters = {"client": client, "property": property, "statuses": statuses}
    return connection.execute(ON_THE_BOOKS, parameters).df()


# Revenue without a room night: `statuses` count on the books, `others` do not.
WITHOUT_NIGHT = """
select stay_date, currency_code,
  sum(room_revenue) filter (list_contains($statuses, status) and cause in ('dayUse', 'dayUsePosted')) as day_use_revenue,
  sum(room_revenue) filter (list_contains($others, status) and cause <> 'dayUse') as fee_revenue,
  sum(room_revenue) filter (list_contains($statuses, status) and cause = 'outsideStay') as outside_stay_revenue
from nights
where client_code = $client and property_code = $property and cause is not null
group by all
order by all
"""


def without_night(connection, client, property, statuses, others):
    """Returns a pandas data frame. `others`: the statuses that do not count on the books, verbatim."""
    parameters = {"client": client, "property": property, "statuses": statuses, "others": others}
    return connection.execute(WITHOUT_NIGHT, parameters).df()


# %%
if __name__ == "__main__":
    folder, client, property, *statuses = sys.argv[1:]
    print(on_the_books(open_export(folder), client, property, statuses).to_csv(index=False), end="")
