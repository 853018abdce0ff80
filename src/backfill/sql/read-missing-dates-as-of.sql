-- As read-missing-dates, but unpaged and as of request $5: by versions received up to it and not quarantined as of then.
select day.date::date::text as date
from generate_series($3::date, $4::date, interval '1 day') as day (date)
where to_char(day.date, 'YYYY-MM-DD') not in (
  select version.key
  from bellhop_state.inventory_version as version
  where version.bucket = $1::smallint and version.property_id = $2 and version.request_id <= $5::uuid
    and {parts/not-quarantined of $5}
)
order by day.date
