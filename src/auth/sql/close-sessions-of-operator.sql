-- All of an operator's but one ($2; null: all).
delete from bellhop.operator_session where operator_name = $1 and ($2::bytea is null or digest <> $2)
