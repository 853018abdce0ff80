update bellhop.privacy_version set version = version + 1
