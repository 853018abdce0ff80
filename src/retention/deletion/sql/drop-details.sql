-- What was told of records that are gone; what became of each, as one letter, stays with the counts of its batch.
update bellhop.request_outcome
set details = (
  select json_object_agg(key, value) from json_each(details) where key <> all ($3::text[])
)
where bucket = $1 and request_id = $2 and details is not null
