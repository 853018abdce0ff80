-- When batches of a property came, and what became of their records: one row for what one apply transaction had of a
-- property and resource. Insert-only, like the outcomes it is written with, and not rebuilt by a replay. A question about a
-- feed reads it from its end, so it costs the days that it asks about and not the log, which knows no properties.
-- rejected: of lenient batches, beside records of this property. Before this migration only the newest receipt is known.
create table bellhop.feed_arrival (
  first_request_id uuid not null,
  last_request_id uuid not null,
  property_id integer not null,
  batches integer not null,
  applied integer not null,
  unchanged integer not null,
  stale integer not null,
  duplicate integer not null,
  quarantined integer not null,
  rejected integer not null,
  warned integer not null,
  bucket smallint not null,
  resource "char" not null,
  primary key (bucket, property_id, resource, last_request_id)
);
insert into bellhop.feed_arrival (first_request_id, last_request_id, property_id, batches, applied, unchanged, stale,
  duplicate, quarantined, rejected, warned, bucket, resource)
select max(request_id::text)::uuid, max(request_id::text)::uuid, property_id, 1, 0, 0, 0, 0, 0, 0, 0, bucket, resource
from bellhop_state.current_record
group by bucket, property_id, resource;
