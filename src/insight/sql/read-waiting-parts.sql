-- The backlog of bucket $1 in the log writers $2 by resource: at most $3 parts per log writer, and the oldest; only parts of clients with a
-- grant for the property ($4, $5). Plan: index scans of the log's primary key from the cursors on.
select part.resource, count(*)::integer as parts,
  extract(epoch from analytics.received_at_of(min(part.request_id::text)::uuid))::float8 * 1000 as oldest_ms
from unnest($2::bigint[]) as log_writer (log_writer_id)
left join lateral ({../../platform/db/sql/cursor of $1::smallint}) as cursor on true
cross join lateral (
  select log.request_id, log.resource, log.client_id
  from bellhop.accept_log as log
  where {../../platform/db/sql/beyond-cursor of $1::smallint} and log.kind = 'b'
  order by log.log_writer_id, log.request_id
  limit $3
) as part
where part.client_id in (
  select client_id from bellhop.client_grant where client_code = $4 and property_code in ($5, '*')
)
group by part.resource
