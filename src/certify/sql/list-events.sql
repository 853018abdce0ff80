-- What was noted of the certification $1 from $2 to $3, in order.
select kind, detail, to_char(noted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
from bellhop.certification_event
where certification_id = $1 and noted_at >= $2::timestamptz and noted_at <= coalesce($3::timestamptz, 'infinity')
order by noted_at, event_no
