-- Of a client's certifications the newest $2 are kept.
delete from bellhop.certification
where client_id = $1 and certification_id not in (
  select certification_id from bellhop.certification where client_id = $1 order by opened_at desc limit $2::integer
)
