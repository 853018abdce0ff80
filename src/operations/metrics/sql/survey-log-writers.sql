-- Log writers that are not retired: whose writer lives, and those that are sealed and not applied to their end. One row each.
select log_writer_id::text as log_writer_id, sealed_at is not null as is_sealed from bellhop.log_writer where retired_at is null
