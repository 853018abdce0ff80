#!/bin/sh
# Run once by PostgreSQL's image, on an empty volume: the role of the service is no superuser, and sees the sessions of all.
set -eu
psql --username postgres --set=ON_ERROR_STOP=1 --set=password="$(cat /run/secrets/database-password)" <<'SQL'
create role bellhop login password :'password';
grant pg_monitor, pg_signal_backend to bellhop;
create database bellhop owner bellhop encoding 'UTF8' template template0;
SQL
