-- Opens a backfill unless the client has $8 open. (Two at once may both find room for the last: the bound is against floods.)
insert into bellhop.backfill (backfill_id, client_id, client_code, property_code, bucket, manifest, note)
select $1, $2, $3, $4, $5, $6, $7
where (select count(*) from bellhop.backfill where client_id = $2 and state = 'o') < $8
