select value from bellhop.instance where name = $1
