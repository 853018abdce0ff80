select erasure_id as "erasureId", requested_by as "requestedBy", reason, started_at as "startedAt",
  finished_at as "finishedAt", certificate_hash as "certificateHash",
  (
    select count(*)::integer from bellhop.erasure_subject as subject where subject.erasure_id = erasure.erasure_id
  ) as subjects
from bellhop.erasure
order by started_at desc, erasure_id
