-- How long each feed has been silent beyond its cadence since its `newest` arrival, by resource.
cross join lateral (
  select coalesce(
    (
      select said.value from bellhop.property_setting as said
      where said.client_code = property.client_code and said.property_code = property.property_code
        and said.name = expected.setting
    ),
    (
      select said.value from bellhop.property_setting as said
      where said.client_code = property.client_code and said.property_code is null and said.name = expected.setting
    ),
    expected.fallback
  ) as hours
) as cadence
cross join lateral (
  select extract(epoch from clock_timestamp() - analytics.received_at_of(newest.last_request_id))::float8
    - case when cadence.hours <> 'none' then cadence.hours::float8 * 3600 end as seconds
) as late
where late.seconds is not null
group by expected.resource
