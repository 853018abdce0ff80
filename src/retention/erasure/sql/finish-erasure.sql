update bellhop.erasure set finished_at = $2, certificate = $3, certificate_hash = $4, salt = null
where erasure_id = $1
