delete from bellhop.instance where name = $1
