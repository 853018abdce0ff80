-- As read-change-counters, of the bucket $1.
select bucket, next_change::text as next_change from bellhop.change_counter
where bucket = $1
order by change_counter.next_change desc limit 1
