-- Deletes arrivals before request $2 of the properties $4 in bucket $1, except the newest of each feed; at most $3 per feed. Small deletes
-- let an append-only table reuse the space.
-- Plan: per feed the start and the end of feed_arrival's primary key.
with old as materialized (
  select property.property_id, resource.letter as resource, note.last_request_id
  from unnest($4::integer[]) as property (property_id)
  cross join unnest('{i,r,g}'::"char"[]) as resource (letter)
  cross join lateral (
    select newest.last_request_id
    from bellhop.feed_arrival as newest
    where newest.bucket = $1 and newest.property_id = property.property_id and newest.resource = resource.letter
    order by newest.last_request_id desc
    limit 1
  ) as last
  cross join lateral (
    select older.last_request_id
    from bellhop.feed_arrival as older
    where older.bucket = $1 and older.property_id = property.property_id and older.resource = resource.letter
      and older.last_request_id < least($2::uuid, last.last_request_id)
    order by older.last_request_id
    limit $3
  ) as note
)
delete from bellhop.feed_arrival as note
using old
where note.bucket = $1 and note.property_id = old.property_id and note.resource = old.resource
  and note.last_request_id = old.last_request_id
