#!/bin/sh
# PostgreSQL's image runs this once, on an empty volume. The service's role is not a superuser and sees all sessions.
set -eu
psql --username postgres --set=ON_ERROR_STOP=1 --set=password="$(cat /run/secrets/database-password)" <<'SQL'
create role bellhop login password :'password';
grant pg_monitor, pg_signal_backend to bellhop;
create database bellhop owner bellhop encoding 'UTF8' template template0;
SQL
