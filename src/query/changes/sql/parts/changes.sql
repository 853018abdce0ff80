(
  select left('{of}', 1) as resource, change_no, property_id, key, source_time, request_id, record_index, is_update
  from bellhop_state.{of}_version as t
  where bucket = looked.bucket {and-bucket} and change_no > looked.behind and change_no <= looked.until
    and strpos($6::text, left('{of}', 1)) > 0 and (property_id in (select unnest($5::integer[]))) is true
  order by change_no limit looked.most
)
