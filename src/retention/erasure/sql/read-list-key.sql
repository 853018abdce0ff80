select value from bellhop.instance where name = 'privacy.list'
