select kid from bellhop.signing_key where remove_at is null limit 1
