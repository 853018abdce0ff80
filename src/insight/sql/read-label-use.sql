-- How many current records of the property $2 in the bucket $1 carry each of the labels $3. Reads the property's records, so
-- it is asked only where there is such a label.
select resource, status as label, count(*)::integer as records
from bellhop_state.current_record
where bucket = $1 and property_id = $2 and resource in ('r', 'g') and status = any ($3::text[])
group by resource, status
order by resource, count(*) desc, status
