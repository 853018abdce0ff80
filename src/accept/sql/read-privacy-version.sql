select version::text as version from bellhop.privacy_version
